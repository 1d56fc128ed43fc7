a:
  test.nop:
  - b: c: d
