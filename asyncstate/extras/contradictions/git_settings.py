"""Claims of `git` states to settings, each known by its file: a repository's, or that of a user's home."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.effects.places import GONE, THERE
from asyncstate.effects.resources import PATH
from asyncstate.extras.contradictions.claim_values import PERHAPS, Marked, files_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk


def of_setting(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state wants of the setting that it gives a value."""
    files = files_written(footprint) if chunk.function == "git.config_set" else ()
    for file in files:
        thing, resource = _setting(_name(chunk), file)
        yield thing, resource, _mark(THERE, files)
        if len(files) == 1:
            yield f"value of {thing}", resource, ("value", _values(chunk))


def claims_of_patterns(
    steps: Sequence[LowChunk], known: Sequence[Footprint]
) -> Iterator[tuple[LowChunk, tuple[str, str, Any]]]:
    """Yield the settings of other states that a state takes away by its patterns of names and of values."""
    settings = [chunk for chunk in steps if chunk.function == "git.config_set"]
    for chunk in steps:
        if chunk.function != "git.config_unset":
            continue
        try:
            names, values = re.compile(_name(chunk)), re.compile(str(chunk.args.get("value_regex") or ""))
        except re.error:  # git's expressions are not Python's
            continue
        for other in settings:
            files = [file for file in files_written(known[chunk.index]) if file in files_written(known[other.index])]
            if names.fullmatch(_name(other)) and any(map(values.search, _values(other))):
                yield from ((chunk, (*_setting(_name(other), file), _mark(GONE, files))) for file in files)


def _setting(name: str, file: str) -> tuple[str, str]:
    return f"git setting {name} in {file}", f"{PATH}{file}"


def _name(chunk: LowChunk) -> str:
    return as_git_spells(str(chunk.name))


def as_git_spells(name: str) -> str:
    """Return the name of a setting as git compares it: without regard to case, apart from the part between two dots."""
    head, dot, rest = name.partition(".")
    middle, last_dot, last = rest.rpartition(".")
    return f"{head.lower()}{dot}{middle}{last_dot}{last.lower()}"


def _values(chunk: LowChunk) -> tuple[str, ...]:
    many = chunk.args.get("multivar")
    if many is None:
        return (str(chunk.args.get("value")),)
    return tuple(map(str, many)) if isinstance(many, list) else tuple(str(many).split(","))


def _mark(value: str, files: Sequence[str]) -> str:
    return value if len(files) == 1 else Marked(value, PERHAPS)
