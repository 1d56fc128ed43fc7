"""Places: folders and files that belong to packages, such as ``/etc/nginx``.

A place means everything at and below it. Files made by a package or its scripts have the name of the package, of a
dependency, or of one of their places: so names of places are compared with names of packages.
"""

from __future__ import annotations

from functools import lru_cache

from asyncstate.pattern import lazy_pattern

UNITS = "/etc/systemd"
"""The place of all units and boot scripts, in whichever folder they are."""

_UNIT_FOLDERS = tuple(
    f"{folder}/"
    for folder in "/etc/systemd /lib/systemd /usr/lib/systemd /run/systemd /etc/init.d /etc/init /etc/rc.d".split()
)
_UNIT = lazy_pattern(
    r"(?:(?:/etc|/lib|/usr/lib|/run)/systemd/(?:system|user)|/etc/init\.d|/etc/init|/etc/rc\.d)/"
    r"([^/*#]+?)(?:\.(?:service|socket|timer|path|conf))?(?:\.d)?(?:[/#].*)?$"
)
_DEEP = frozenset({"lib", "log", "cache", "spool"})
OF_SINGLE_FILES = frozenset({"/etc/default", "/etc/logrotate.d"})
"""Folders in which each file is a place, because each has a reader of its own."""

_WORD = lazy_pattern(r"[a-z]{2,}")
_SHORT = 3
"""Number of letters that count in a comparison: ``snmpd`` has files in ``/var/lib/snmp``."""

_LONG = 7
"""Largest number of letters that count: an account of ``postgresql`` is ``postgres``."""

_CACHED = 16_384


def place_of(path: str) -> str:
    """Return the place of a path in ``/etc``, ``/var``, ``/run`` or ``/opt``, or "" if it is in none."""
    if f"{path}/".startswith(_UNIT_FOLDERS):
        return UNITS
    parts = path.split("/", 4)
    if len(parts) < 3 or not parts[2]:
        return ""
    top = parts[1]
    if top == "etc" and f"/etc/{parts[2]}" in OF_SINGLE_FILES and len(parts) > 3 and parts[3]:
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


def unit_of(path: str) -> str:
    """Return the service of a unit or boot script, such as ``cron.service``; "" for any other path.

    A drop-in, a socket and a timer belong to the service of their name.
    """
    match = _UNIT.match(path)
    return f"{match[1]}.service" if match is not None else ""


@lru_cache(maxsize=_CACHED)
def words_of(name: str) -> frozenset[str]:
    """Return the beginnings of the words in the name of a package or a place: ``lda`` for ``libldap-2.5``."""
    return frozenset(word.removeprefix("lib")[:_SHORT] or word for word in _WORD.findall(name.lower()))


_OF_ANY = frozenset(
    """
    agent api app base bin client common conf config core daemon data debian default dev extra full lib local main node
    plugin plugins server service system tool tools user util utils web worker
    """.split()
)


@lru_cache(maxsize=_CACHED)
def whole_words_of(name: str) -> frozenset[str]:
    """Return the words in a name, without common ones: ``ssh`` for ``sshd``, at most `_LONG` letters of each."""
    words = (word for word in _WORD.findall(name.lower()) if word not in _OF_ANY)
    return frozenset((word.removesuffix("d") if len(word) > _SHORT else word)[:_LONG] for word in words)


def last_name(place: str) -> str:
    """Return the last part of a place, its name."""
    return place.rpartition("/")[2]
