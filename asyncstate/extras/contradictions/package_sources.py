"""Claims of `pkgrepo` states to sources of Debian packages, in any file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.effects.places import GONE, THERE
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.chunk import LowChunk

_LINE = re.compile(r"\s*(deb|deb-src)\s+(?:\[([^]]*)\]\s*)?(\S+)\s+([^\s\[]+)([^\[]*)")
SAY_OTHERWISE = frozenset(
    "disabled enabled comps dist type architectures comments clean_file signedby trusted ppa copr".split()
)
"""Arguments with which a source is to be more than the line that is its name."""


class SourceLine(Value):
    """A line of sources.list."""

    kind: str
    uri: str
    suite: str
    comps: frozenset[str]
    options: frozenset[str]

    @property
    def architectures(self) -> frozenset[str]:
        """The architectures that the source is limited to; none if it is not."""
        given = (option.removeprefix("arch=") for option in self.options if option.startswith("arch="))
        return frozenset(each for value in given for each in value.split(","))

    def shares(self, other: SourceLine) -> bool:
        """Whether two lines are of one source: apt's modules find it by any of its components."""
        mine, its = ((line.kind, line.uri, line.suite) for line in (self, other))
        return mine == its and (self.comps == other.comps or not self.comps.isdisjoint(other.comps))


def source_line(line: Any) -> SourceLine | None:
    """Return what a line of sources.list says, None if it is none."""
    found = _LINE.fullmatch(line) if isinstance(line, str) and "#" not in line else None
    if found is None:
        return None
    kind, options, uri, suite, comps = found.groups()
    return SourceLine(
        kind, uri.removesuffix("/"), suite, frozenset(comps.split()), frozenset(options.split() if options else ())
    )


def of_source(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield that each component of a source is there or gone, and what a state that makes it sets."""
    line = source_line(chunk.name)
    if line is None or chunk.fun not in {"managed", "absent"}:
        return
    words = f"{line.kind} {line.uri} {line.suite}"
    for each in sorted(line.comps) or [""]:
        thing, resource = f"pkgrepo {words} {each}".rstrip(), f"pkgrepo|{words} {each}|{line.architectures}"
        yield thing, resource, THERE if chunk.fun == "managed" else GONE
        if chunk.fun == "managed" and SAY_OTHERWISE.isdisjoint(chunk.args):
            yield f"line of {thing}", f"pkgrepo|{words} {each}", ("line", (line.comps, line.options))
