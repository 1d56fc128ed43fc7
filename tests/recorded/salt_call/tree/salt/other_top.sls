base:
  'box':
    - ok
