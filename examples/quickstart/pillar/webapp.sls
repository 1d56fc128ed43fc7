webapp:
  name: guestbook
  version: '1.4'
  host: 127.0.0.1
  port: 8080
  workers: 4
  greeting: Hello from a state tree
  features:
    signup: true
    search: false
