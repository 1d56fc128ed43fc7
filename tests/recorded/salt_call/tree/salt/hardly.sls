# A failure with failhard stops what comes after it.

before:
  test.succeed_with_changes

stops:
  test.fail_without_changes:
    - failhard: True

after:
  test.succeed_with_changes

later:
  test.succeed_with_changes:
    - require:
      - test: before
