base:
  '*':
    - webapp
    - webapp.tuning
