nginx:
  pkg.installed: []
  service.running:
    - enable: True
    - reload: True
    - require:
      - pkg: nginx
    - watch:
      - file: nginx-conf
      - file: nginx-site

nginx-conf:
  file.managed:
    - name: /etc/nginx/nginx.conf
    - source: salt://nginx/files/nginx.conf
    - require:
      - pkg: nginx

nginx-site:
  file.managed:
    - name: /etc/nginx/sites-available/app
    - source: salt://nginx/files/app
    - require:
      - pkg: nginx

nginx-site-enabled:
  file.symlink:
    - name: /etc/nginx/sites-enabled/app
    - target: /etc/nginx/sites-available/app
    - require:
      - file: nginx-site
    - watch_in:
      - service: nginx

nginx-default:
  file.absent:
    - name: /etc/nginx/sites-enabled/default
    - require:
      - pkg: nginx
    - watch_in:
      - service: nginx

nginx-dhparam:
  cmd.run:
    - name: openssl dhparam -out /etc/nginx/dhparam.pem 2048
    - creates: /etc/nginx/dhparam.pem
    - require:
      - pkg: base-packages
      - pkg: nginx
    - require_in:
      - service: nginx

/var/www/html/index.html:
  file.managed:
    - contents: hello
    - makedirs: True
    - user: www-data
    - group: www-data
    - require:
      - pkg: nginx
