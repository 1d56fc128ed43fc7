{# One requisite, every outcome of its target, each target for itself. #}
{% set targets = {
  'ok': {},
  'chg': {'changes': {'a': 1}, 'predicted': [none, {'a': 1}]},
  'bad': {'result': false},
  'badchg': {'result': false, 'changes': {'a': 1}},
  'none': {'result': none},
  'nonechg': {'result': none, 'changes': {'a': 1}},
  'boom': {'raises': true},
  'skip': {'changes': {'a': 1}, 'skip_req': true},
} %}
{% for name, arguments in targets.items() %}
{{ name }}:
  probe.run: {{ [arguments] | json if arguments else '[]' }}
after_{{ name }}:
  probe.run:
    - watch:
      - probe: {{ name }}
{% endfor %}
held_true:
  probe.run:
    - onchanges:
      - probe: ok
held_false:
  probe.run:
    - require:
      - probe: bad
{% for name in ('held_true', 'held_false') %}
after_{{ name }}:
  probe.run:
    - watch:
      - probe: {{ name }}
{% endfor %}
