base:
  '*':
    - web
  'db*':
    - fails
