include:
  - ok

first:
  test.nop
