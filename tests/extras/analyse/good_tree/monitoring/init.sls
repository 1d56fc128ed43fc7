prometheus-node-exporter:
  pkg.installed: []
  file.managed:
    - name: /etc/default/prometheus-node-exporter
    - contents: ARGS=""
    - require:
      - pkg: prometheus-node-exporter
  service.running:
    - enable: True
    - watch:
      - file: prometheus-node-exporter

/usr/local/bin/check-app:
  file.managed:
    - contents: |
        #!/bin/sh
        curl -fsS http://127.0.0.1:8000/health
    - mode: '0755'

check-app-cron:
  cron.present:
    - name: /usr/local/bin/check-app
    - identifier: check-app
    - minute: '*/5'
    - require:
      - file: /usr/local/bin/check-app
