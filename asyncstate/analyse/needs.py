"""What a later state may need of an earlier one, as an author would write it down with a requisite.

The engine orders more states than that: all that could have to do with one another, so that a run has the effects of a
serial one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from asyncstate.report.waits import both_touch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.model.chunk import LowChunk

_ENTRIES = frozenset(
    """alias alternatives cron debconf environ git grains group host kmod locale mount pip pkg pkgrepo ssh_auth
    ssh_known_hosts sysctl user""".split()
)
"""Modules each of whose states manages one entry of a shared file or database."""

_NEEDS_NO_DAEMON = frozenset(
    """alias alternatives archive cron debconf environ file git grains group host ini keyboard kmod locale mount pip pkg
    pkgrepo ssh_auth ssh_known_hosts sysctl timezone user virtualenv""".split()
)
"""States whose work does not depend on whether a daemon runs."""

_HOLDERS = frozenset({"pkg", "service"})
_ACCOUNTS = frozenset({"user", "group"})
_COMMANDS = frozenset({"cmd", "module"})
_STANDS_FOR_ANY = re.compile("formula:|packages:next-number$")
"""Resources without a list: the files that packages may bring, and those that daemons may read."""
_ANSWERED = re.compile(r"formula:[^/]*/packages:[^/]+$")
"""The resource of the packages that bring one program."""
_ABOUT_DAEMONS = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]|\bdaemon-reload\b")
"""What commands say that ask daemons of this machine, or prepare their start."""
_HOSTS = "path:/etc/hosts"
_OF_SOME = {
    "packages:/etc/ssl/certs": "https:",
    "packages:/var/spool/cron": "/var/spool/cron",
    "locale:compiled": "lc_",
}
"""Resources that states touch in general, and what is in the text of those that need them."""
_WORD = re.compile("[a-z0-9]{3,}")
_OF_MANY = frozenset(
    """absent apt base bash bin check client cmd common conf config contrib core create data default dev directory
    doc enable enabled env etc extra file folder full git group home install installed lib libs local log main
    managed none opt package packages pkg plugin present python python3 reload restart root run running sbin
    server service setup share srv state system systemd tmp tools user usr utils var venv www""".split()
)
"""Words in names and paths of many things."""


def needs(
    chunk: LowChunk, other: LowChunk, resources: Sequence[str], chunks: Sequence[LowChunk], mask: int
) -> list[str]:
    """Return those of the resources for which an author would write that a state comes after another one.

    ``mask`` has a bit for each of the chunks behind which requisites put the state already. Two entries of one list,
    such as two packages, have none. A resource that stands for all that packages may bring, or that daemons may read,
    counts only if the names of the two states have a word in common.
    """
    if "test" in {chunk.state, other.state}:
        return []
    if chunk.state == other.state and chunk.state in _ENTRIES and chunk.name != other.name:
        return []
    if other.state in {"service", "module"} and chunk.state in _NEEDS_NO_DAEMON:
        return []
    return [each for each in resources if _is_needed(chunk, other, each) and not _is_stated(each, other, chunks, mask)]


def _is_needed(chunk: LowChunk, other: LowChunk, resource: str) -> bool:
    """Whether a state may need what another one does to a resource."""
    if resource.startswith("packages:") and chunk.state == "pkg" != other.state:
        return False
    if _ACCOUNTS.issuperset({chunk.state, other.state}):
        return resource.startswith(("user:", "group:"))
    for some, word in _OF_SOME.items() if chunk.state not in _COMMANDS else ():
        if resource.startswith(some):
            return word in _text(chunk)
    if resource.startswith(_HOSTS) and "host" in {chunk.state, other.state}:
        entry, asks = (chunk, other) if chunk.state == "host" else (other, chunk)
        return asks.state != "pkg" and str(entry.name) in _text(asks)
    if not _STANDS_FOR_ANY.match(resource):
        return True
    if chunk.state == "pkg" or chunk.state == other.state == "service":
        return False
    if _ANSWERED.match(resource):
        return True
    commands = [each for each in (chunk, other) if each.state in _COMMANDS] if resource.endswith("/daemons") else []
    if any(_ABOUT_DAEMONS.search(_text(each)) for each in commands):
        return True
    words = _words(other)
    return any(one in two or two in one for one in _words(chunk) for two in words)  # ssh and openssh


def _text(chunk: LowChunk) -> str:
    return json.dumps([chunk.name, chunk.args], default=str)


def _words(chunk: LowChunk) -> frozenset[str]:
    """Return the words in what a state names, except those in names of many things."""
    named = [chunk.id, chunk.name, *(chunk.args.get(each) for each in ("target", "user", "group"))]
    packages = chunk.args.get("pkgs")
    if chunk.state in _HOLDERS:
        named = packages if isinstance(packages, list) else [chunk.name]
    elif chunk.state not in _NEEDS_NO_DAEMON:
        named.append(chunk.state)  # such as mysql_user
    return frozenset(word for each in named for word in _WORD.findall(str(each).lower())) - _OF_MANY


def _is_stated(resource: str, other: LowChunk, chunks: Sequence[LowChunk], mask: int) -> bool:
    """Whether a state stands behind a third one that makes this account, or whose package brings this folder.

    A folder that ``makedirs`` makes may as well be of a package.
    """
    kind, _, name = resource.partition(":")
    behind = (each for each in chunks if mask >> each.index & 1)
    if kind in _ACCOUNTS:
        account = (kind, name)
        return (other.state, other.name) != account and any((each.state, each.name) == account for each in behind)
    if kind == "path" and other.args.get("makedirs") and other.name != name:
        words = frozenset(_WORD.findall(name.lower())) - _OF_MANY
        return any(each.state == "pkg" and not words.isdisjoint(_words(each)) for each in behind)
    return False


def why(found: Sequence[str], other: LowChunk) -> str:
    """Return in words why a state may need another one: ``found`` is what `needs` has returned."""
    plain = [each for each in found if not _STANDS_FOR_ANY.match(each)]
    if plain:
        return both_touch(plain)
    if any(each.endswith("/daemons") for each in found):
        return "it may need what that starts" if other.state == "service" else "it may read that when it starts"
    return "it may need what that installs"
