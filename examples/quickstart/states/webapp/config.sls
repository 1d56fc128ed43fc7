{%- from "webapp/map.jinja" import webapp, root with context %}

include:
  - webapp.layout

webapp-config:
  file.managed:
    - name: {{ root }}/etc/{{ webapp.name }}.ini
    - source: salt://webapp/files/app.ini.jinja
    - template: jinja
    - mode: '0640'
    - defaults:
        log_level: INFO
    - context:
        webapp: {{ webapp | tojson }}
        root: {{ root }}
    - require:
      - file: webapp-folders

webapp-proxy:
  file.managed:
    - name: {{ root }}/etc/proxy.conf
    - source: salt://webapp/files/proxy.conf.jinja
    - template: jinja
    - context:
        webapp: {{ webapp | tojson }}
        root: {{ root }}
    - require:
      - file: webapp-folders

webapp-features:
  file.serialize:
    - name: {{ root }}/etc/features.json
    - dataset_pillar: webapp:features
    - serializer: json
    - require:
      - file: webapp-folders

webapp-session-key:
  cmd.run:
    - name: umask 077; {{ webapp.python }} -c 'import secrets; print(secrets.token_hex(32))' > session.key
    - cwd: {{ root }}/etc/secrets
    - creates: {{ root }}/etc/secrets/session.key
    - require:
      - file: webapp-secrets-folder
