of_a_template:
  test.succeed_with_changes:
    - name: {{ grains['role'] }}
