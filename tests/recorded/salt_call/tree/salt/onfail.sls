breaks:
  test.fail_without_changes

repairs:
  test.succeed_with_changes:
    - onfail:
      - test: breaks

unneeded:
  test.nop:
    - onfail:
      - test: repairs
