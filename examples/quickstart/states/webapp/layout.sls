{%- from "webapp/map.jinja" import root with context %}

webapp-folders:
  file.directory:
    - names:
      - {{ root }}/releases
      - {{ root }}/etc
      - {{ root }}/var/log
      - {{ root }}/var/run
    - mode: '0755'
    - makedirs: True

webapp-secrets-folder:
  file.directory:
    - name: {{ root }}/etc/secrets
    - mode: '0700'
    - require:
      - file: webapp-folders
