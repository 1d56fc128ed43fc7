site:
  name: example
  users: [ann, bob]
port: 8080
