warned:
  test.configurable_test_state:
    - changes: True
    - result: True
    - comment: |
        one line
        another line
    - warnings:
      - be careful
      - very careful
