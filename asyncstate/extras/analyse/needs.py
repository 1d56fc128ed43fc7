"""Needs of a later state for an earlier one that an author would express by a requisite.

The engine orders more states: all that could affect each other, so that a run has the effects of a serial one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from asyncstate.extras.analyse.reasons import both_touch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.model.chunk import LowChunk

_ENTRIES = frozenset(
    """alias alternatives cron debconf environ git grains group host kmod locale mount pip pkg pkgrepo ssh_auth
    ssh_known_hosts sysctl user""".split()
)
"""Modules whose states each manage one entry of a shared file or database."""

_NEEDS_NO_DAEMON = frozenset(
    """alias alternatives archive cron debconf environ file git grains group host ini keyboard kmod locale mount pip pkg
    pkgrepo ssh_auth ssh_known_hosts sysctl timezone user virtualenv""".split()
)
"""States whose work does not depend on a running daemon."""

_HOLDERS = frozenset({"pkg", "service"})
_ACCOUNTS = frozenset({"user", "group"})
_COMMANDS = frozenset({"cmd", "module"})
_STANDS_FOR_ANY = re.compile("formula:|packages:next-number$|processes")
"""Resources without a list: files that packages may contain or daemons may read, mounts that processes may use."""
_ANSWERED = re.compile(r"formula:[^/]*/packages:[^/]+$")
"""The resource of the packages that contain a program."""
_ABOUT_DAEMONS = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]|\bdaemon-reload\b")
"""Matches commands that query daemons of this machine, or prepare their start."""
_HOSTS = "path:/etc/hosts"
_OF_SOME = {
    "packages:/etc/ssl/certs": "https:",
    "packages:/var/spool/cron": "/var/spool/cron",
    "locale:compiled": "lc_",
}
"""Resources that states touch in general, with a pattern for the text of states that need them."""
_WORD = re.compile("[a-z0-9]{3,}")
_OF_MANY = frozenset(
    """absent apt base bash bin check client cmd common conf config contrib core create data default dev directory
    doc enable enabled env etc extra file folder full git group home install installed lib libs local log main
    managed none opt package packages pkg plugin present python python3 reload restart root run running sbin
    server service setup share srv state system systemd tmp tools user usr utils var venv www""".split()
)
"""Common words in names and paths."""


def needs(
    chunk: LowChunk, other: LowChunk, resources: Sequence[str], chunks: Sequence[LowChunk], mask: int
) -> list[str]:
    """Return the resources for which an author would write a requisite between two states.

    ``mask`` has a bit for each chunk that requisites already put before the state. Two entries of one list, such as
    two packages, have none. A resource for all files that packages may contain, or daemons may read, counts only if
    the names of the two states have a word in common.
    """
    if "test" in {chunk.state, other.state}:
        return []
    if chunk.state == other.state and chunk.state in _ENTRIES and chunk.name != other.name:
        return []
    if other.state in {"service", "module"} and chunk.state in _NEEDS_NO_DAEMON:
        return []
    return [each for each in resources if _is_needed(chunk, other, each) and not _is_stated(each, other, chunks, mask)]


def _is_needed(chunk: LowChunk, other: LowChunk, resource: str) -> bool:
    """Whether a state may need the effect of another one on a resource."""
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
    """Return the words in the names and paths of a state, except common ones."""
    named = [chunk.id, chunk.name, *(chunk.args.get(each) for each in ("target", "user", "group"))]
    packages = chunk.args.get("pkgs")
    if chunk.state in _HOLDERS:
        named = packages if isinstance(packages, list) else [chunk.name]
    elif chunk.state not in _NEEDS_NO_DAEMON:
        named.append(chunk.state)  # such as mysql_user
    return frozenset(word for each in named for word in _WORD.findall(str(each).lower())) - _OF_MANY


def _is_stated(resource: str, other: LowChunk, chunks: Sequence[LowChunk], mask: int) -> bool:
    """Whether a state comes after a third one that makes this account, or whose package contains this folder.

    A folder made by ``makedirs`` may also come from a package.
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
    """Return the reason why a state may need another one, as text; ``found`` is the result of `needs`."""
    plain = [each for each in found if not _STANDS_FOR_ANY.match(each)]
    if plain:
        return both_touch(plain)
    if any(each.startswith("processes") for each in found):
        return "processes that this ends may use the mount"
    if any(each.endswith("/daemons") for each in found):
        return "it may need what that starts" if other.state == "service" else "it may read that when it starts"
    return "it may need what that installs"
