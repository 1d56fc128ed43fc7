{%- from "webapp/map.jinja" import webapp, root, release with context %}

include:
  - webapp.release
  - webapp.config

webapp-database:
  cmd.run:
    - name: {{ webapp.python }} -m app.database {{ root }}/var/{{ webapp.name }}.db
    - cwd: {{ release }}
    - unless: {{ webapp.python }} -m app.database --check {{ root }}/var/{{ webapp.name }}.db
    - require:
      - archive: webapp-release
      - file: webapp-config
