web_conf:
  file.managed:
    - name: {{ opts['target'] }}/web.conf
    - makedirs: True
    - contents: |
        port {{ pillar.get('port', 80) }}
        name {{ grains['id'] }}
