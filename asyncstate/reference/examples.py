"""Examples for functions whose documentation has none, with a plausible name and plausible values."""

from __future__ import annotations

_NAMES = {
    "alias": "root", "alternatives": "editor", "archive": "/srv/app", "cmd": "date >> /var/log/dates",
    "cmd.script": "salt://app/install.sh", "cmd.wait_script": "salt://app/install.sh", "cron": "/usr/local/bin/backup",
    "cron.env_absent": "MAILTO", "cron.env_present": "MAILTO", "cron.file": "salt://app/crontab", "debconf": "tzdata",
    "docker_container": "web", "docker_image": "nginx:stable", "docker_network": "backend", "environ": "EDITOR",
    "event": "app/deployed", "file": "/etc/app.conf", "file.directory": "/srv/app", "file.recurse": "/srv/app",
    "file.pruned": "/srv/app", "file.tidied": "/var/backups", "file.retention_schedule": "/var/backups",
    "file.mknod": "/srv/app/pipe", "file.accumulated": "servers", "git": "https://example.org/app.git",
    "git.present": "/srv/git/app.git", "git.config_set": "user.name", "git.config_unset": "user.name",
    "file.rename": "/etc/app.conf.old",
    "file.hardlink": "/etc/app.link", "file.missing": "/etc/app.old", "file.symlink": "/etc/app.link",
    "grains": "roles", "grains.exists": "os", "group": "www", "host": "db.example.org", "host.only": "192.0.2.1",
    "http": "https://example.org/health", "ini": "/etc/app.ini", "keyboard": "de", "kmod": "br_netfilter",
    "locale": "en_GB.UTF-8", "module": "test.ping", "mount": "/mnt/data", "mount.fstab_present": "/dev/sdb1",
    "mount.fstab_absent": "/dev/sdb1", "mount.swap": "/dev/sdb2", "pip": "requests", "pkg": "nginx",
    "pkgrepo": "deb http://deb.example.org/app stable main", "postgres_cluster": "main", "postgres_database": "app",
    "postgres_extension": "pg_trgm", "postgres_group": "readers", "postgres_privileges": "ada",
    "postgres_schema": "app", "postgres_tablespace": "fast", "postgres_user": "ada", "service": "nginx",
    "ssh_auth": "AAAAC3NzaC1lZDI1NTE5AAAAIexample", "ssh_known_hosts": "example.org", "sysctl": "vm.swappiness",
    "timezone": "Europe/Berlin", "user": "ada", "virtualenv": "/srv/app/venv", "x509": "/etc/ssl/app.pem",
}  # fmt: skip
"""An example of ``name`` for all states of a module, or for one state."""
_VALUES = {
    "alias.present.target": "ada@example.org", "data": "{tzdata/Areas: {type: select, value: Europe}}", "dbname": "app",
    "device": "/dev/sdb1", "directory": "/srv/postgres", "filename": "/etc/app.conf", "fs_file": "/mnt/data",
    "fs_vfstype": "ext4", "fstype": "ext4", "func": "app.deploy", "hostnames": "[db.example.org]", "ip": "192.0.2.1",
    "link": "/usr/bin/editor", "ntype": "p", "object_name": "app", "object_type": "database",
    "path": "/usr/bin/vim.basic", "pattern": "^port = .*", "priority": "50", "private_key": "/etc/ssl/app.key",
    "regex": "^debug", "repl": "port = 8080", "retain": "{most_recent: 5}", "rev": "v1.0", "revoked": "[]",
    "signing_private_key": "/etc/ssl/ca.key", "source": "salt://app/files", "file.copy.source": "/etc/app.conf.default",
    "archive.extracted.source": "salt://app/files.tar.gz", "file.rename.source": "/etc/app.conf.default",
    "file.hardlink.target": "/etc/app.conf.default", "file.patch.source": "salt://app/app.patch",
    "file.accumulated.filename": "/etc/app.conf",
    "ssh_keys": "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIexample]", "target": "/srv/app", "text": "server a",
    "user": "ada", "value": "web", "version": "'15'",
}  # fmt: skip
"""Example values of required arguments."""
_MORE = {
    "cron.present": {"minute": "'30'", "hour": "'3'"},
    "file.append": {"text": "server a"},
    "file.blockreplace": {
        "marker_start": "'# begin'", "marker_end": "'# end'", "content": "port = 8080", "append_if_not_found": "True",
    },
    "file.decode": {"encoded_data": "cG9ydCA9IDgwODAK"},
    "file.directory": {"mode": "'0755'", "makedirs": "True"},
    "file.keyvalue": {"key": "port", "value": "'8080'", "separator": "' = '", "append_if_not_found": "True"},
    "file.line": {"mode": "ensure", "content": "port = 8080", "after": "^host"},
    "file.managed": {"source": "salt://app/app.conf", "mode": "'0644'"},
    "file.prepend": {"text": "server a"},
    "file.serialize": {"dataset": "{port: 8080}", "serializer": "json"},
    "test.check_pillar": {"present": "[app]"},
    "test.show_notification": {"text": "Read the release notes"},
}  # fmt: skip
"""What else an example needs, or is better with."""
_BESIDE = {
    "file.accumulated": """
    - require_in:
      - file: app

app:
  file.managed:
    - name: /etc/app.conf
    - source: salt://app/app.conf
    - template: jinja""",
}
"""What an example goes on with."""


def state_example(name: str, needed: list[str]) -> str:
    """Return SLS text that calls a state function with a name, the arguments ``needed``, and what they need beside."""
    module = name.partition(".")[0]
    arguments = {"name": _NAMES.get(name) or _NAMES.get(module, "example")}
    for each in needed:
        arguments.setdefault(each, _VALUES.get(f"{name}.{each}") or _VALUES.get(each, "example"))
    arguments |= _MORE.get(name, {})
    lines = ["my-id:", f"  {name}:", *(f"    - {key}: {value}" for key, value in arguments.items())]
    return "\n".join(lines) + _BESIDE.get(name, "")


def call_example(name: str, needed: list[str]) -> str:
    """Return the command line that calls an execution function with the required arguments ``needed``."""
    return " ".join(["asyncstate call", name, *(each.upper() for each in needed)])
