changes:
  test.succeed_with_changes

keeps:
  test.succeed_without_changes

follows:
  test.nop:
    - onchanges:
      - test: changes

rests:
  test.nop:
    - onchanges:
      - test: keeps

unwanted:
  test.succeed_with_changes:
    - unless: 'true'

wanted:
  test.succeed_with_changes:
    - onlyif: 'true'

held:
  test.succeed_with_changes:
    - require:
      - test: keeps
    - watch:
      - test: changes

fails:
  test.fail_with_changes:
    - comment: it does
