base-packages:
  pkg.installed:
    - pkgs: [curl, vim, htop, rsync, git, ca-certificates, cron, logrotate, sudo]

Etc/UTC:
  timezone.system

locale-present:
  locale.present:
    - name: en_US.UTF-8

en_US.UTF-8:
  locale.system:
    - require:
      - locale: locale-present

/etc/motd:
  file.managed:
    - contents: Managed by Salt.
    - user: root
    - group: root
    - mode: '0644'

vm.swappiness:
  sysctl.present:
    - value: 10

net.core.somaxconn:
  sysctl.present:
    - value: 1024

fs.file-max:
  sysctl.present:
    - value: 200000

/etc/security/limits.d/90-app.conf:
  file.managed:
    - contents: |
        app soft nofile 65536
        app hard nofile 65536

chrony:
  pkg.installed: []
  file.managed:
    - name: /etc/chrony/chrony.conf
    - contents: pool 2.debian.pool.ntp.org iburst
    - require:
      - pkg: chrony
  service.running:
    - enable: True
    - watch:
      - file: chrony

/etc/logrotate.d/app:
  file.managed:
    - contents: "/var/log/app/*.log { weekly\n rotate 4 }"
    - require:
      - pkg: base-packages
