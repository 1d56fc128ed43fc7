# The application: nothing of it begins before the database is there.
{% set root = pillar['root'] %}

application.conf:
  file.managed:
    - name: {{ root }}/application.conf
    - contents: "database: db1"
    - makedirs: True
    - require:
      - {host: 'G@role:database', cmd: restart database}

# It restarts if its own configuration changes, or that of the database on the other host.
restart application:
  cmd.wait:
    - name: sleep 2; echo restarted >> '{{ root }}/application.log'
    - watch:
      - file: application.conf
      - {host: 'G@role:database', file: database.conf}
