"""State tags: the keys of every report, ``state_|-id_|-name_|-fun``."""

from typing import NamedTuple

SEPARATOR = "_|-"


class TagParts(NamedTuple):
    """The four parts of a state tag."""

    state: str
    id: str
    name: str
    fun: str


def state_tag(state: str, id_: str, name: str, fun: str) -> str:
    """Build the tag of one state, as Salt's ``gen_state_tag`` does."""
    return f"{state}{SEPARATOR}{id_}{SEPARATOR}{name}{SEPARATOR}{fun}"


def parse_tag(tag: str) -> TagParts:
    """Split a tag into its parts. If an ID or a name contains the separator, the ID ends at the first one.

    Raises ValueError when ``tag`` has fewer than four parts.
    """
    state, sep, rest = tag.partition(SEPARATOR)
    middle, sep2, fun = rest.rpartition(SEPARATOR)
    id_, sep3, name = middle.partition(SEPARATOR)
    if not (sep and sep2 and sep3):
        msg = f"not a state tag: {tag!r}"
        raise ValueError(msg)
    return TagParts(state, id_, name, fun)
