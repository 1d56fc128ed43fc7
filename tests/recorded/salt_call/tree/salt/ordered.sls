last:
  test.nop:
    - order: last

third:
  test.nop

first:
  test.nop:
    - order: 1

second:
  test.nop:
    - require_in:
      - test: third
