first:
  test.nop

second:
  test.succeed_without_changes:
    - name: a longer name
    - require:
      - test: first
