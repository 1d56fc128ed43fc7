{%- from "webapp/map.jinja" import webapp, root, release with context %}

include:
  - webapp.layout

webapp-release:
  archive.extracted:
    - name: {{ root }}/releases
    - source: salt://webapp/files/{{ webapp.name }}-{{ webapp.version }}.tar.gz
    - require:
      - sls: webapp.layout

webapp-current:
  file.symlink:
    - name: {{ root }}/current
    - target: {{ release }}
    - require:
      - archive: webapp-release

# Byte code is made once for each release, not once for each run.
webapp-compile:
  cmd.run:
    - name: {{ webapp.python }} -m compileall -q app
    - cwd: {{ release }}
    - onchanges:
      - archive: webapp-release
