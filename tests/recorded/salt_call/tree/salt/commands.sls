say_hello:
  cmd.run:
    - name: echo hello; echo there >&2

stays:
  cmd.run:
    - name: 'false'
    - unless: 'true'
