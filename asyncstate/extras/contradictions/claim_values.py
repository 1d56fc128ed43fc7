"""Values of claims: the wanted form of a thing, and whether two of them can both hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from asyncstate.effects.places import FILE, FOLDER, GONE, LINK, THERE
from asyncstate.effects.resources import ENTRY, PATH
from asyncstate.value import Value

if TYPE_CHECKING:
    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk

UNLINKED = "unlinked"
"""A file, or a folder, that is to be no link."""
COPIED = "copied"
"""A copy: whatever is there takes the place of a folder, too."""
BARRED = "barred"
"""Gone, as a file stands where the folder above has to be."""
MAY_BAR = "may bar"
"""The same, if a link above leads to nothing."""
UNPACKED = "unpacked"
"""A folder that nothing looks for where all is unpacked that can be seen: behind a file, too."""
NEEDED = "needed"
"""A thing that a state does not make, and fails without."""
USABLE = "usable"
"""A thing that is needed if anything is there."""
FILLED = "filled"
"""Something with files in it, or of a name that only a run can tell, in a folder that a state fills."""
HELD = "held"
"""A thing that is needed, and cannot be removed meanwhile."""
EXACT = "exact"
"""A package that is there, in a version that another claim says."""
CLEANED = "cleaned"
"""Gone, unless the folder requires it."""
STARTABLE = "startable"
"""No mask when the service is started; one that runs by then does not mind."""
PERHAPS = "perhaps"
"""A value that only a run can tell."""
NEEDS = frozenset({NEEDED, USABLE, HELD})
_COMMIT = re.compile("[0-9a-f]{7,40}")
_NO_VERSION = re.compile(r"[<>=!*,\s]|^latest$")
_MODE = re.compile("0*([0-7]+)")
_NUMBERS = frozenset({"uid", "gid", "user", "group"})
_LISTS = frozenset({"opts", "fs_mntops"})


class Claim(NamedTuple):
    """The value that a state wants a thing to have."""

    chunk: LowChunk
    value: Any


class Marked(str):
    """A wanted value, equal to its plain text; ``how`` is one of the words above."""

    __slots__ = ("how",)
    how: str

    def __new__(cls, value: str, how: str) -> Self:
        """Return the text with a mark."""
        marked = super().__new__(cls, value)
        marked.how = how
        return marked


def how(value: Any) -> str:
    """Return the mark of a claim, "" if it has none."""
    return value.how if isinstance(value, Marked) else ""


class Members(Value):
    """Who is in a list, and who is not; with ``only``, no others are. If not ``sure``, two names may mean one."""

    within: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    sure: bool = True


def plain(argument: str, value: Any) -> Any:
    """Return a setting so that equal ones compare equal; None if it is not given, or its meaning not known here."""
    if argument in _LISTS:
        items = value.split(",") if isinstance(value, str) else value
        return frozenset(map(str, items)) if isinstance(items, list) else None
    if not isinstance(value, (str, int, float)) or (isinstance(value, bool) and argument != "commented"):
        return None
    text = " ".join(str(value).split())
    if argument == "mode":
        octal = _MODE.fullmatch(text)
        return octal[1] if octal else None
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
    hows = {how(one), how(other)}
    if hows & NEEDS:
        needed, found = (one, other) if how(one) in NEEDS else (other, one)
        unmet = (found == GONE and how(needed) != USABLE) or {found, needed} == {FILE, FOLDER}
        return None if unmet and PERHAPS in hows else unmet
    if how(one) in {PERHAPS, STARTABLE} or how(other) == PERHAPS:
        return None if unlike and EXACT not in hows else False
    if MAY_BAR in hows or hows == {BARRED, UNPACKED}:
        return None
    if not unlike or GONE in {one, other}:
        return unlike
    if how(one) == how(other) == LINK:
        return True if one and other else None
    if THERE in {one, other}:
        return None if FOLDER in {one, other} and COPIED in hows else False
    if LINK in hows:  # a file is written, and a folder is one, through a link
        return True if UNLINKED in hows else None
    return True


def _excludes(one: Members, other: Members) -> bool:
    """Whether the first list leaves out who is in the other one."""
    return not one.without.isdisjoint(other.within) or (one.only is not None and not other.within <= one.only)


def meets(value: Any, needed: Any) -> bool:
    """Whether a claim gives what another one needs."""
    return value in {needed, THERE} or (value in {FILE, FOLDER} and needed == THERE)


def binds(value: Any) -> bool:
    """Whether a claim can be unlike others of its own kind."""
    if isinstance(value, Members):
        return value.only is not None or bool(value.without)
    return how(value) not in NEEDS


def _kind(argument: str, value: Any) -> object:
    """Return what kind of name a setting has: two of unlike kinds may be names of one thing."""
    if argument in _NUMBERS:
        return str(value).isdecimal()
    if argument == "rev":
        return "HEAD" if value == "HEAD" else len(value) if _COMMIT.fullmatch(value) else "name"
    return argument


def files_written(footprint: Footprint) -> tuple[str, ...]:
    """Return the files that a state writes to, beside what is made of them, and beside the kernel's."""
    names = [name.removeprefix(PATH).partition(ENTRY)[0] for name in footprint.writes if name.startswith(PATH)]
    made = {f"{name}{end}" for name in names for end in (".old", ".db")}
    return tuple(dict.fromkeys(each for each in names if each not in made and not each.startswith(("/sys/", "/proc/"))))
