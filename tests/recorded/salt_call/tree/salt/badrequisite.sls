waits:
  test.nop:
    - require:
      - test: nobody
