include:
  - web.conf

web_dir:
  file.directory:
    - name: {{ opts['target'] }}

web_service:
  test.succeed_with_changes:
    - name: nginx
    - require:
      - file: web_dir
    - watch:
      - file: web_conf
