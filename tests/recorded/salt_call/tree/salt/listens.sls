listener:
  test.succeed_without_changes:
    - listen:
      - test: heard

heard:
  test.succeed_with_changes
