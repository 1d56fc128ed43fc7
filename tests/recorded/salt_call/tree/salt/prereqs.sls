before:
  test.succeed_with_changes:
    - prereq:
      - test: changing

changing:
  test.succeed_with_changes
