include:
  - ok
  - names

extend:
  second:
    test:
      - name: another name

own:
  test.nop:
    - require:
      - sls: names
