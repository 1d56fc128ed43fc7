app-group:
  group.present:
    - name: app
    - system: True

app-user:
  user.present:
    - name: app
    - gid: app
    - system: True
    - home: /srv/app
    - createhome: False
    - shell: /usr/sbin/nologin
    - require:
      - group: app-group

app-packages:
  pkg.installed:
    - pkgs: [python3, python3-venv, python3-pip, libpq5]

/srv/app:
  file.directory:
    - user: app
    - group: app
    - mode: '0755'
    - require:
      - user: app-user

/srv/app/releases:
  file.directory:
    - user: app
    - group: app
    - require:
      - file: /srv/app

/var/log/app:
  file.directory:
    - user: app
    - group: adm
    - mode: '0750'
    - require:
      - user: app-user

/etc/app:
  file.directory:
    - user: root
    - group: app
    - mode: '0750'
    - require:
      - group: app-group
