"""Places: the folders and files in which packages have something of their own, such as ``/etc/nginx``.

A place stands for all at and below it. What a package or its scripts make has the name of the package, of one that it
depends on, or of a place that they have: that is how the names of places are compared with those of packages.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNITS = "/etc/systemd"
"""The place of all units and boot scripts, in whichever folder they are."""

_UNIT_FOLDERS = tuple(
    f"{folder}/"
    for folder in "/etc/systemd /lib/systemd /usr/lib/systemd /run/systemd /etc/init.d /etc/init /etc/rc.d".split()
)
_DEEP = frozenset({"lib", "log", "cache", "spool"})
_OF_SINGLE_FILES = frozenset({"default", "logrotate.d"})
"""Folders in ``/etc`` in which each file is a place: none is read by whoever reads another."""

_WORD = re.compile(r"[a-z]{2,}")
_SHORT = 3
"""How many letters of a word count: ``snmpd`` has files in ``/var/lib/snmp``."""

_CACHED = 16_384


def place_of(path: str) -> str:
    """Return the place of a path in ``/etc``, ``/var``, ``/run`` or ``/opt``, or "" if it is in none."""
    if f"{path}/".startswith(_UNIT_FOLDERS):
        return UNITS
    parts = path.split("/", 4)
    if len(parts) < 3 or not parts[2]:
        return ""
    top = parts[1]
    if top == "etc" and parts[2] in _OF_SINGLE_FILES and len(parts) > 3 and parts[3]:
        return f"/etc/{parts[2]}/{parts[3]}"
    if top in {"etc", "run"}:
        return f"/{top}/{parts[2]}"
    if top == "opt":
        return "/opt"
    if top != "var":
        return ""
    if parts[2] == "run":
        return f"/run/{parts[3]}" if len(parts) > 3 and parts[3] else ""
    if parts[2] not in _DEEP:
        return f"/var/{parts[2]}"
    return f"/var/{parts[2]}/{parts[3]}" if len(parts) > 3 and parts[3] else ""


@lru_cache(maxsize=_CACHED)
def words_of(name: str) -> frozenset[str]:
    """Return the beginnings of the words in the name of a package or of a place; of ``libldap-2.5`` it is ``lda``."""
    return frozenset(word.removeprefix("lib")[:_SHORT] or word for word in _WORD.findall(name.lower()))


def last_name(place: str) -> str:
    """Return the last part of a place, its own name."""
    return place.rpartition("/")[2]
