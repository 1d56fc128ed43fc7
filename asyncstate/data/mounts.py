"""Names of devices and folders as fstab(5) and ``/proc/self/mounts`` have them, and getmntent(3) reads them."""

from __future__ import annotations

from asyncstate.pattern import lazy_pattern

_AS_LISTED = str.maketrans({" ": r"\040", "\t": r"\011", "\n": r"\012", "\\": r"\134"})
_GIVEN = lazy_pattern(r"(?P<kept>\\[0-7]{3})|\\(?P<blank> )|[ \t\n\\]")


def escaped(path: str) -> str:
    """Return a path as the kernel lists it."""
    return path.translate(_AS_LISTED)


def field(text: str) -> str:
    """Return a field as it is written: blanks, tabs, newlines and backslashes as octal numbers.

    Numbers that ``text`` has already stay, and a blank behind a backslash is a blank, as in Salt's trees.
    """
    return _GIVEN.sub(lambda found: found["kept"] or escaped(found["blank"] or found[0]), text)


def first_field(text: str) -> str:
    """Return a field as it is written at the begin of a line, where a ``#`` would make a comment of the line."""
    return field(text).replace("#", r"\043", 1) if text.startswith("#") else field(text)
