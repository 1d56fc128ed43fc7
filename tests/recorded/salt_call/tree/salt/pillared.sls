{% set wanted = salt['pillar.get']('list', ['default']) %}
{{ pillar.get('name', 'no name') }}:
  test.nop
{% for each in wanted %}
each_{{ each }}:
  test.succeed_without_changes:
    - name: {{ each }} of {{ grains['id'] }} {{ opts['custom_option'] }}
{% endfor %}
