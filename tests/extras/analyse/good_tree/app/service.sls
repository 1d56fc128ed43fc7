include:
  - app.deps
  - postgres

app-config:
  file.managed:
    - name: /etc/app/config.yaml
    - source: salt://app/files/config.yaml
    - template: jinja
    - user: root
    - group: app
    - mode: '0640'
    - require:
      - file: /etc/app

app-env:
  file.managed:
    - name: /etc/default/app
    - contents: APP_ENV=production

app-source:
  git.latest:
    - name: https://git.example.com/app.git
    - target: /srv/app/current
    - user: app
    - rev: main
    - require:
      - pkg: base-packages
      - file: /srv/app
      - user: app-user

app-venv:
  cmd.run:
    - name: python3 -m venv /srv/app/venv
    - runas: app
    - creates: /srv/app/venv/bin/python
    - require:
      - pkg: app-packages
      - file: /srv/app

app-requirements:
  cmd.run:
    - name: /srv/app/venv/bin/pip install -r /srv/app/current/requirements.txt
    - runas: app
    - require:
      - cmd: app-venv
    - onchanges:
      - git: app-source

app-migrate:
  cmd.run:
    - name: /srv/app/venv/bin/python /srv/app/current/manage.py migrate
    - runas: app
    - onchanges:
      - git: app-source
    - require:
      - cmd: app-requirements
      - file: app-config
      - postgres_database: app-db

app-unit:
  file.managed:
    - name: /etc/systemd/system/app.service
    - source: salt://app/files/app.service
    - mode: '0644'

app-daemon-reload:
  cmd.run:
    - name: systemctl daemon-reload
    - onchanges:
      - file: app-unit

app-service:
  service.running:
    - name: app
    - enable: True
    - require:
      - cmd: app-migrate
      - cmd: app-daemon-reload
      - postgres_database: app-db
      - file: /var/log/app
      - file: /srv/app/releases
    - watch:
      - file: app-unit
      - file: app-config
      - file: app-env
      - git: app-source

app-cleanup:
  cron.present:
    - name: /srv/app/venv/bin/python /srv/app/current/manage.py clearsessions
    - user: app
    - hour: 3
    - minute: 15
    - identifier: app-cleanup
    - require:
      - user: app-user
