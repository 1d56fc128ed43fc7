# The database. It requires nothing; others wait for it.
{% set root = pillar['root'] %}

database.conf:
  file.managed:
    - name: {{ root }}/database.conf
    - contents: "port: {{ pillar.get('port', 5432) }}"
    - makedirs: True

restart database:
  cmd.wait:
    - name: sleep 2; echo restarted >> '{{ root }}/database.log'
    - watch:
      - file: database.conf
