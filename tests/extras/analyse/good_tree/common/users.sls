admins:
  group.present:
    - gid: 5000

alice:
  user.present:
    - uid: 5001
    - groups: [admins]
    - shell: /bin/bash
    - require:
      - group: admins
  ssh_auth.present:
    - user: alice
    - enc: ssh-ed25519
    - name: AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw
    - require:
      - user: alice

bob:
  user.present:
    - uid: 5002
    - groups: [admins]
    - require:
      - group: admins

mallory:
  user.absent: []

/home/alice/.bashrc:
  file.managed:
    - contents: alias ll='ls -l'
    - user: alice
    - group: alice
    - require:
      - user: alice

/etc/sudoers.d/admins:
  file.managed:
    - contents: '%admins ALL=(ALL) NOPASSWD: ALL'
    - mode: '0440'
    - check_cmd: /usr/sbin/visudo -c -f
    - require:
      - pkg: base-packages
      - group: admins
