good:
  test.succeed_with_changes

bad:
  test.fail_without_changes:
    - name: does not work

after:
  test.nop:
    - require:
      - test: bad
