"""The highstates that are applied: of public formulas that Debian's own packages are enough for, and two of our own.

The pillar of a formula is its example.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

SETS: dict[str, tuple[str, ...]] = {
    "web": ("nginx", "redis", "fail2ban", "logrotate", "cron", "users"),
    "balancer": ("haproxy", "keepalived", "redis", "users"),
    "mail": ("postfix", "dovecot", "fail2ban", "cron"),
    "cache": ("varnish", "memcached", "haproxy", "logrotate", "timezone"),
    "files": ("samba", "vsftpd", "openssh", "sudoers", "users"),
    "proxy": ("squid", "chrony", "sudoers", "snmp"),
    "base": ("openssh", "chrony", "users", "sudoers", "locale", "timezone"),
    "directory": ("openldap", "ntp", "cron", "sudoers"),
    "names": ("bind", "dhcpd", "ntp", "hostsfile"),
    "store": ("redis", "memcached", "logrotate", "cron", "users"),
    "gate": ("firewalld", "openssh", "fail2ban", "sudoers", "hostsfile"),
    "site": ("nginx", "varnish", "memcached", "redis", "users", "chrony"),
}

WITHOUT_EXAMPLE = frozenset({"nginx", "postfix", "ntp", "bind"})
"""Formulas whose example is not a whole pillar: Salt does not render it, or the tree with it."""

_LEFT_TO_CHANCE = {"cron": (b"minute: random", b"minute: 7")}
"""What an example leaves to chance, and a value for it: two applies must be able to end alike."""

_PLACES = ("pillar.example", "{sls}/pillar.example", "test/salt/pillar/default.sls")


_FILES = {
    "nginx": "/etc/nginx/conf.d/bench.conf",
    "redis-server": "/etc/redis/bench.conf",
    "memcached": "/etc/default/memcached",
    "haproxy": "/etc/haproxy/errors/bench.http",
    "chrony": "/etc/chrony/conf.d/bench.conf",
    "rsync": "/etc/rsyncd.conf",
    "vsftpd": "/etc/vsftpd.conf",
    "snmpd": "/etc/snmp/snmpd.conf.d/bench.conf",
    "fail2ban": "/etc/fail2ban/jail.d/bench.conf",
    "logrotate": "/etc/logrotate.d/bench",
}
_PACKAGE = "{0}:\n  pkg.installed: []\n"
_ITS_FILE = "{1}:\n  file.managed:\n    - contents: ''\n    - makedirs: True\n    - require: [pkg: {0}]\n"
OWN = {
    "packages": "".join(map(_PACKAGE.format, _FILES)),
    "pairs": "".join((_PACKAGE + _ITS_FILE).format(*pair) for pair in _FILES.items()),
}
"""SLS files: ten packages in a row, and each of them followed by its file, the commonest form of a tree."""


class Formula(NamedTuple):
    """A checkout: its folder's name, the SLS, and the example of a pillar if there is one that counts."""

    folder: str
    sls: str
    example: Path | None


class Highstate(NamedTuple):
    """Some formulas, applied together, or one of `OWN`."""

    name: str
    formulas: tuple[Formula, ...] = ()

    @property
    def sls(self) -> list[str]:
        """What is applied."""
        return [formula.sls for formula in self.formulas] or [self.name]

    def write(self, folder: str, formulas: str, place: str) -> str:
        """Write a minion's configuration and the pillar into a new folder, for tools that see it as ``place``.

        ``formulas`` is where they see the checkouts. Returns the folder.
        """
        pillar = Path(folder) / "pillar"
        pillar.mkdir(parents=True)
        tops = []
        for formula in self.formulas:
            if formula.example is not None:
                tops.append(f"p_{formula.sls}")
                text = formula.example.read_bytes().replace(*_LEFT_TO_CHANCE.get(formula.sls, (b"\0", b"")))
                (pillar / f"p_{formula.sls}.sls").write_bytes(text)
        (pillar / "top.sls").write_text(yaml.safe_dump({"base": {"*": tops}}), encoding="utf-8")
        roots = [f"{formulas}/{formula.folder}" for formula in self.formulas]
        if self.name in OWN:
            (Path(folder) / "states").mkdir()
            (Path(folder) / "states" / f"{self.name}.sls").write_text(OWN[self.name], encoding="utf-8")
            roots = [f"{place}/states"]
        options: dict[str, Any] = {
            "id": "bench",
            "file_client": "local",
            "file_roots": {"base": roots},
            "pillar_roots": {"base": [f"{place}/pillar"]},
        }
        (Path(folder) / "minion").write_text(yaml.safe_dump(options), encoding="utf-8")
        return folder


def highstate_of(name: str, checkouts: Path) -> Highstate:
    """Return the highstate of a name. ``checkouts`` has folders named ``OWNER+NAME-formula`` or ``NAME-formula``."""
    return Highstate(name, tuple(_formula(checkouts, member) for member in SETS.get(name, ())))


def _formula(checkouts: Path, name: str) -> Formula:
    found = sorted([*checkouts.glob(f"*+{name}-formula"), *checkouts.glob(f"{name}-formula")])
    if not found:
        raise SystemExit(f"{checkouts} has no checkout of {name}-formula")
    folder = found[0]
    sls = next((sls for sls in (name, name.replace("-", "_")) if (folder / sls / "init.sls").is_file()), None)
    if sls is None:
        raise SystemExit(f"{folder} has no {name}/init.sls")
    examples = [folder / place.format(sls=sls) for place in _PLACES]
    example = None if name in WITHOUT_EXAMPLE else next((path for path in examples if path.is_file()), None)
    return Formula(folder.name, sls, example)
