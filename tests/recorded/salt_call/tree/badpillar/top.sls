base:
  '*':
    - sound
    - broken
