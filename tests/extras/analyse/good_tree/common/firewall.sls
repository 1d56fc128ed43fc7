nftables:
  pkg.installed: []

/etc/nftables.conf:
  file.managed:
    - contents: flush ruleset
    - mode: '0755'
    - require:
      - pkg: nftables

nftables-service:
  service.running:
    - name: nftables
    - enable: True
    - watch:
      - file: /etc/nftables.conf
