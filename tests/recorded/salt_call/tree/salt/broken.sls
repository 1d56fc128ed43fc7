{% if True %}
open:
  test.nop
