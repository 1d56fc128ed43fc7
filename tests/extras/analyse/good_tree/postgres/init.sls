postgresql:
  pkg.installed:
    - pkgs: [postgresql, postgresql-client]

/etc/postgresql/15/main/conf.d/tuning.conf:
  file.managed:
    - contents: shared_buffers = 512MB
    - user: postgres
    - group: postgres
    - makedirs: True
    - require:
      - pkg: postgresql

/etc/postgresql/15/main/pg_hba.conf:
  file.managed:
    - source: salt://postgres/files/pg_hba.conf
    - user: postgres
    - group: postgres
    - mode: '0640'
    - require:
      - pkg: postgresql

postgresql-service:
  service.running:
    - name: postgresql
    - enable: True
    - watch:
      - file: /etc/postgresql/15/main/conf.d/tuning.conf
      - file: /etc/postgresql/15/main/pg_hba.conf

app-db-user:
  postgres_user.present:
    - name: app
    - password: '{{ pillar.get("db_password", "secret") }}'
    - login: True
    - require:
      - service: postgresql-service

app-db:
  postgres_database.present:
    - name: app
    - owner: app
    - require:
      - postgres_user: app-db-user
