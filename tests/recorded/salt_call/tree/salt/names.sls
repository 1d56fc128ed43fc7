several:
  test.succeed_without_changes:
    - names:
      - one
      - two
      - three
