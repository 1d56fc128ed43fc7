# Which host applies what: the role is a grain in the configuration of each agent.
base:
  'G@role:database':
    - match: compound
    - database
  'G@role:application':
    - match: compound
    - application
  'G@role:balancer':
    - match: compound
    - balancer
