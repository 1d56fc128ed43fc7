# The load balancer takes requests once the application is there. "sls" means all states of that file.
{% set root = pillar['root'] %}

balancer.conf:
  file.managed:
    - name: {{ root }}/balancer.conf
    - contents: "backend: app1"
    - makedirs: True
    - require:
      - {host: 'G@role:application', sls: application}

reload balancer:
  cmd.wait:
    - name: sleep 1; echo reloaded >> '{{ root }}/balancer.log'
    - watch:
      - file: balancer.conf
      - {host: 'G@role:application', cmd: restart application}
