"""Lists of the contents of packages, known before they are installed: their files in ``/etc`` and ``/var``.

``debian.txt`` is made from the archive's lists of contents and dependencies. It covers a package with everything that
it depends on or recommends, but nothing that only a maintainer script makes. A folder without a list belongs to the
packages with a similar name, a file directly in ``/etc`` to any.

A *place* is a folder or a file that belongs to packages, such as ``/etc/nginx``, with everything at and below it. Files
made by a package or its scripts have the name of the package, of a dependency, or of one of their places: so names of
places are compared with names of packages.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, lru_cache
from typing import Protocol

from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

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

_OF_ANY = frozenset(
    """
    agent api app base bin client common conf config core daemon data debian default dev extra full lib local main node
    plugin plugins server service system tool tools user util utils web worker
    """.split()
)


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


@lru_cache(maxsize=_CACHED)
def whole_words_of(name: str) -> frozenset[str]:
    """Return the words in a name, without common ones: ``ssh`` for ``sshd``, at most `_LONG` letters of each."""
    words = (word for word in _WORD.findall(name.lower()) if word not in _OF_ANY)
    return frozenset((word.removesuffix("d") if len(word) > _SHORT else word)[:_LONG] for word in words)


def last_name(place: str) -> str:
    """Return the last part of a place, its name."""
    return place.rpartition("/")[2]


_TABLES = {"Debian": "debian.txt"}

_SHARED = frozenset(
    """
    /etc/alternatives /etc/default /etc/logrotate.d /run/credentials /run/initctl /run/lock /run/log /run/mount
    /run/network /run/shm /run/systemd /run/udev /run/user /var/cache/debconf /var/lib/apt /var/lib/dpkg /var/lib/misc
    /var/lib/systemd /var/spool/mail
    """.split()
)
"""Places in which any package may have files, made by scripts and daemons."""

OF_MANY = frozenset(
    """
    /etc/X11 /etc/apparmor.d /etc/apt /etc/bash_completion.d /etc/cron.d /etc/cron.daily /etc/cron.hourly
    /etc/cron.monthly /etc/cron.weekly /etc/cron.yearly /etc/dbus-1 /etc/environment.d /etc/ld.so.conf.d
    /etc/modprobe.d /etc/modules-load.d /etc/network /etc/pam.d /etc/perl /etc/ppp /etc/profile.d /etc/rsyslog.d
    /etc/security /etc/skel /etc/ssl /etc/sudoers.d /etc/sysctl.d /etc/udev /etc/xdg
    """.split()
)
"""Folders in which many packages have files, each under its own name."""

_OF_HOOKS = frozenset({"/etc/NetworkManager", "/etc/dhcp", "/etc/init.d", "/etc/logrotate.d", "/etc/systemd"})
"""Further folders shared by packages, whose names say nothing about the package."""

_TOP = 2

PROGRAMS = {
    "bunzip2": {"bzip2"},
    "bzcat": {"bzip2"},
    "bzip2": {"bzip2"},
    "crontab": {"bcron", "cron", "systemd-cron"},
    "curl": {"curl"},
    "file": {"file"},
    "jq": {"jq"},
    "sysctl": {"procps"},
    "tar": {"bzip2", "lzip", "lzop", "ncompress", "tar", "xz-utils", "zstd"},
    "unxz": {"xz-utils"},
    "unzip": {"unzip"},
    "wget": {"wget"},
    "xz": {"xz-utils"},
    "xzcat": {"xz-utils"},
    "zip": {"zip"},
}
"""Programs whose effect does not depend on other packages, and the packages of Debian that contain them."""

_OF_OTHER_NAMES = {
    "a2enmod": {"apache2"},
    "apache2ctl": {"apache2"},
    "dig": {"bind9-dnsutils", "dnsutils"},
    "docker": {"docker.io"},
    "gpg": {"gnupg", "gnupg2"},
    "host": {"bind9-dnsutils", "dnsutils"},
    "htpasswd": {"apache2-utils"},
    "ifconfig": {"net-tools"},
    "ip": {"iproute2"},
    "iptables-restore": {"iptables"},
    "java": {"default-jdk", "default-jre", "default-jre-headless", "openjdk-17-jdk", "openjdk-17-jre-headless"},
    "lvcreate": {"lvm2"},
    "mysql": {"default-mysql-client", "mariadb-client", "mariadb-server"},
    "mysqladmin": {"default-mysql-client", "mariadb-client", "mariadb-server"},
    "nc": {"netcat-openbsd"},
    "netstat": {"net-tools"},
    "nft": {"nftables"},
    "node": {"nodejs"},
    "named-checkconf": {"bind9", "bind9-utils"},
    "php": {"php-cli"},
    "pip": {"python3-pip"},
    "pip3": {"python3-pip"},
    "postmap": {"postfix"},
    "ps": {"procps"},
    "psql": {"postgresql-client", "postgresql-client-common"},
    "pvcreate": {"lvm2"},
    "redis-cli": {"redis-tools"},
    "rndc": {"bind9", "bind9-utils"},
    "setfacl": {"acl"},
    "ssh": {"openssh-client"},
    "ssh-keygen": {"openssh-client"},
    "vgcreate": {"lvm2"},
}
"""Further programs whose packages have other names."""

BASE = frozenset(
    """
    [ [[ : test true false echo printf exit return break continue shift set unset wait sleep uname arch nproc tty exec
    mktemp getopts ulimit umask jobs printenv stty basename dirname bg fg times builtin trap .
    source hostid logname sync cat tac more nl od wc md5sum b2sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum
    sum readlink realpath df fold paste join comm cmp pr expand fmt tsort stat du head tail cut tr sort uniq diff grep
    egrep fgrep zgrep sed seq yes expr zcat ls dir vdir tee touch cp mv ln link install rm unlink rmdir shred truncate
    mkdir mkfifo mknod chgrp chmod chown chattr lsattr split csplit gzip gunzip find xargs dd env nice nohup stdbuf
    timeout sh dash update-alternatives
    """.split()
)
"""Programs on all systems of a known family, whose effect does not depend on other packages.

Not among them: ``command -v x``, ``type x`` and ``which x``, which look for any program.
"""


class Brings(Protocol):
    """The contents of a package with its dependencies."""

    @property
    def accounts(self) -> bool:
        """Whether it makes accounts."""

    @property
    def packages(self) -> frozenset[str]:
        """The names of the package and its dependencies, as far as known."""

    @property
    def places(self) -> frozenset[str]:
        """The places in which it is known to have files."""

    @property
    def lasting(self) -> bool:
        """Whether this holds for other versions, too."""

    @property
    def installed(self) -> bool:
        """Whether it is installed."""

    def has(self, place: str, /) -> bool:
        """Whether it may have files at a place."""

    def runs(self, program: str, /) -> bool:
        """Whether it may contain a program."""

    def named(self, name: str, /) -> bool:
        """Whether a unit, an account or a file of that name may belong to it."""


class Listed(Value):
    """The list entry of a package: its ``places``, whether it makes accounts, and the ``packages`` with dependencies.

    ``known`` are the places listed for any package.
    """

    places: frozenset[str]
    accounts: bool
    packages: frozenset[str]
    known: frozenset[str] = frozenset()
    lasting: bool = True
    installed: bool = False

    def has(self, place: str) -> bool:
        """Whether it has files at a place. A place that is not listed for any package counts by its name."""
        if place in self.places:
            return True
        return place not in self.known and not words_of(last_name(place)).isdisjoint(self._words())

    def runs(self, program: str) -> bool:
        """Whether it contains a program: by the table of programs, or else by its name."""
        bringers = PROGRAMS.get(program) or _OF_OTHER_NAMES.get(program) or {program}
        return not self.packages.isdisjoint(bringers)

    def named(self, name: str) -> bool:
        """Whether the name of the package, of a dependency or of one of its places resembles a name."""
        own = self.places - OF_MANY - _OF_HOOKS
        return not whole_words_of(name).isdisjoint(_whole_words(self.packages, own))

    def _words(self) -> frozenset[str]:
        return _words(self.packages, self.places)


class PackageLists:
    """The contents of packages of one family of systems."""

    def __init__(self, table: str) -> None:
        places, _, packages = table.partition("\n\n")
        self._places = [line for line in places.split("\n") if line.startswith("/")]
        self._packages = packages.split("\n")
        self._known = frozenset((*self._places, UNITS, "/opt"))

    @cached_property
    def _lines(self) -> dict[str, int]:
        return {line.partition(" ")[0].removesuffix("*"): number for number, line in enumerate(self._packages) if line}

    def brings(self, package: str) -> Listed | None:
        """Return the contents of a package, or None if unknown. An architecture may follow the name: ``a:i386``."""
        name = package.partition(":")[0]
        number = self._lines.get(name)
        if number is None:
            return None
        first, _, rest = self._packages[number].partition(" ")
        own, _, others = rest.partition("|")
        names = (self._packages[int(each)].partition(" ")[0].removesuffix("*") for each in others.split())
        places = frozenset(self._places[int(each)] for each in own.split())
        return Listed(places, first.endswith("*"), frozenset((name, *names)), self._known)

    def implied(self, _name: str, /) -> frozenset[str]:
        """Return no package: the lists do not say what is installed."""
        return frozenset()

    def place(self, path: str) -> str | None:
        """Return the place of a path, or None if the packages with files there cannot be known."""
        place = place_of(path)
        if not place or (place in self._known and place not in _SHARED):
            return place or None
        return place if may_be_named_after_its_package(path, place) else None

    def of_many(self, place: str) -> bool:
        """Whether many packages have files in a folder, each under its own name."""
        return place in OF_MANY


def may_be_named_after_its_package(path: str, place: str) -> bool:
    """Whether scripts of packages make such a place only under the name of their package.

    Directly in ``/etc`` they make files of other names, such as ``/etc/timezone``.
    """
    name = last_name(place)
    if place in _SHARED or name.startswith(".") or not words_of(name):
        return False
    below_etc = place.startswith("/etc/") and path.startswith(f"{place}/")
    return place.count("/") > _TOP or place.startswith("/run/") or below_etc


@cache
def _words(packages: frozenset[str], places: frozenset[str]) -> frozenset[str]:
    return frozenset(word for name in (*packages, *map(last_name, places)) for word in words_of(name))


@cache
def _whole_words(packages: frozenset[str], places: frozenset[str]) -> frozenset[str]:
    return frozenset(word for name in (*packages, *map(last_name, places)) for word in whole_words_of(name))


@cache
def package_lists(os_family: str) -> PackageLists | None:
    """Return the lists for a family of systems (the grain ``os_family``), or None."""
    name = _TABLES.get(os_family)
    if name is None:
        return None
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return PackageLists(file.read())
