{%- from "webapp/map.jinja" import webapp, root with context %}

include:
  - webapp.release
  - webapp.config
  - webapp.database

# reload_trigger is a state module of this tree (_states/reload_trigger.py). The server reloads when the file is touched;
# `watch` touches it when the configuration or the release has changed, and leaves it alone otherwise.
webapp-reload:
  reload_trigger.armed:
    - name: {{ root }}/var/run/{{ webapp.name }}.reload
    - watch:
      - file: webapp-config
      - file: webapp-features
      - file: webapp-current
    - require:
      - cmd: webapp-database
      - cmd: webapp-session-key

webapp-deploy-log:
  file.append:
    - name: {{ root }}/var/log/deploy.log
    - text: {{ webapp.name }} {{ webapp.version }} is ready
    - require:
      - reload_trigger: webapp-reload
