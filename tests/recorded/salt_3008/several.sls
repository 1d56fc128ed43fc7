{# Pairs of targets under every kind that takes several. #}
{% set targets = ['ok', 'chg', 'bad', 'badchg', 'none'] %}
ok: probe.run
chg:
  probe.run:
    - changes: {a: 1}
bad:
  probe.run:
    - result: false
badchg:
  probe.run:
    - result: false
    - changes: {a: 1}
none:
  probe.run:
    - result: null
    - changes: {a: 1}
{% for kind in ('require', 'require_any', 'watch', 'watch_any', 'onchanges', 'onchanges_any', 'onfail', 'onfail_any', 'onfail_all') %}
{% for one in targets %}
{% for two in targets if targets.index(two) > targets.index(one) %}
{{ kind }}_{{ one }}_{{ two }}:
  probe.run:
    - {{ kind }}: [{probe: {{ one }}}, {probe: {{ two }}}]
{% endfor %}
{% endfor %}
{% endfor %}
