openssh-server:
  pkg.installed: []

/etc/ssh/sshd_config:
  file.managed:
    - source: salt://common/sshd_config
    - mode: '0600'
    - require:
      - pkg: openssh-server

ssh:
  service.running:
    - enable: True
    - watch:
      - file: /etc/ssh/sshd_config
