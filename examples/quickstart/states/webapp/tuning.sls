# What this site does differently: changes to states that are declared elsewhere.
include:
  - webapp.config

extend:
  webapp-config:
    file:
      - defaults:
          log_level: WARNING
  webapp-proxy:
    file:
      - mode: '0644'
