{# Two kinds on one state, each with each of three targets. #}
ok: probe.run
chg:
  probe.run:
    - changes: {a: 1}
bad:
  probe.run:
    - result: false
{% set kinds = ['require', 'watch', 'onchanges', 'onfail', 'require_any', 'onfail_all'] %}
{% for first in kinds %}
{% for second in kinds if kinds.index(second) > kinds.index(first) %}
{% for one in ('ok', 'chg', 'bad') %}
{% for two in ('ok', 'chg', 'bad') %}
{{ first }}_{{ one }}_{{ second }}_{{ two }}:
  probe.run:
    - {{ first }}: [{probe: {{ one }}}]
    - {{ second }}: [{probe: {{ two }}}]
{% endfor %}
{% endfor %}
{% endfor %}
{% endfor %}
