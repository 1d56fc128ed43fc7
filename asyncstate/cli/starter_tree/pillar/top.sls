# Which machine gets which pillar: data of yours that SLS files and templates use. Passwords belong here, not into the
# states, so this folder is for its owner only.

base:
  '*':
    - hello
