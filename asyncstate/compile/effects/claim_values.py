"""Values of claims: what states want a thing to be, and whether two of them can both hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.value import Value

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk

THERE, GONE = "there", "gone"
FILE, FOLDER, LINK = "file", "directory", "link"
_COMMIT = re.compile("[0-9a-f]{7,40}")
_NO_VERSION = re.compile(r"[<>=!*,\s]|^latest$")
_NUMBERS = frozenset({"uid", "gid", "user", "group"})
_LISTS = frozenset({"opts", "fs_mntops"})


class Claim(NamedTuple):
    """What a state wants a thing to be."""

    chunk: LowChunk
    value: Any


class Link(str):
    """A link with its target, "" if that is not known."""

    __slots__ = ()


class Unlinked(str):
    """A file, or a folder, that is to be no link."""

    __slots__ = ()


class Copied(str):
    """What is there takes the place of a folder, too."""

    __slots__ = ()


class Barred(str):
    """Gone, as a file stands where the folder above has to be."""

    __slots__ = ()


class Needed(str):
    """What a state does not make, and fails without."""

    __slots__ = ()


class Usable(Needed):
    """What is needed if anything is there."""

    __slots__ = ()


class Exact(str):
    """A package that is there, in a version that another claim says."""

    __slots__ = ()


class Members(Value):
    """Who is in a list, and who is not; with ``only``, no others are. If not ``sure``, two names may mean one."""

    within: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    sure: bool = True


class Cleaned(str):
    """Gone, unless the folder requires it."""

    __slots__ = ()


class Startable(str):
    """No mask when the service is started; one that runs by then does not mind."""

    __slots__ = ()


class Perhaps(str):
    """A claim that only a run can tell."""

    __slots__ = ()


def plain(argument: str, value: Any) -> Any:
    """Return a setting so that equal ones compare equal; None if it is not given, or its meaning not known here."""
    if argument in _LISTS:
        items = value.split(",") if isinstance(value, str) else value
        return frozenset(map(str, items)) if isinstance(items, list) else None
    if not isinstance(value, (str, int, float)) or (isinstance(value, bool) and argument != "commented"):
        return None
    text = " ".join(str(value).split())
    if argument == "mode":
        return text.lstrip("0") if text.isdecimal() and text.strip("01234567") == "" else None
    if argument == "version" and _NO_VERSION.search(text):
        return None
    if argument in {"user", "group"} and text == "0":
        return "root"
    return text.rstrip("/") if argument in {"home", "target", "device"} else text


def differ(one: Any, other: Any) -> bool | None:
    """Whether two claims to one thing, in the order of their states, cannot both hold; None: only a run can tell."""
    unlike: bool = one != other
    if isinstance(one, Members) and isinstance(other, Members):
        apart = _excludes(one, other) or _excludes(other, one)
        return None if apart and not (one.sure and other.sure) else apart
    if isinstance(one, tuple) and isinstance(other, tuple):  # settings
        if "no version" in {one[0], other[0]}:
            return bool(one[0] != other[0] and one[1] == other[1])
        return one[1] != other[1] and (None if _kind(*one) != _kind(*other) else True)
    if isinstance(one, Needed) or isinstance(other, Needed):
        needed, found = (one, other) if isinstance(one, Needed) else (other, one)
        return bool((found == GONE and not isinstance(needed, Usable)) or (found == FOLDER and needed == FILE))
    if isinstance(one, (Perhaps, Startable)) or isinstance(other, Perhaps):
        return None if unlike and not (isinstance(one, Exact) or isinstance(other, Exact)) else False
    if not unlike or GONE in {one, other}:
        return unlike
    if isinstance(one, Link) and isinstance(other, Link):
        return True if one and other else None
    if THERE in {one, other}:
        return None if FOLDER in {one, other} and (isinstance(one, Copied) or isinstance(other, Copied)) else False
    if isinstance(one, Link) or isinstance(other, Link):  # a file is written, and a folder is one, through a link
        return True if isinstance(one, Unlinked) or isinstance(other, Unlinked) else None
    return True


def _excludes(one: Members, other: Members) -> bool:
    """Whether the first list leaves out who is in the other one."""
    return not one.without.isdisjoint(other.within) or (one.only is not None and not other.within <= one.only)


def meets(value: Any, needed: Any) -> bool:
    """Whether a claim gives what another one needs."""
    return value in {FILE, THERE} or (value == FOLDER and needed == THERE)


def binds(value: Any) -> bool:
    """Whether a claim can be unlike others of its own kind."""
    if isinstance(value, Members):
        return value.only is not None or bool(value.without)
    return not isinstance(value, Needed)


def _kind(argument: str, value: Any) -> object:
    """Return what kind of name a setting has: two of unlike kinds may be names of one thing."""
    if argument in _NUMBERS:
        return str(value).isdecimal()
    if argument == "rev":
        return "HEAD" if value == "HEAD" else len(value) if _COMMIT.fullmatch(value) else "name"
    return argument
