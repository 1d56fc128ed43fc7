"""Lines that states write into the files of hosts and of keys: the entries of `host` and `ssh_auth`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from asyncstate.effects.places import THERE
from asyncstate.effects.resources import plain_path
from asyncstate.extras.contradictions.claim_values import Members, files_written
from asyncstate.extras.contradictions.claims import key_in, of_keys, related

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk

_ADD = frozenset({"append", "prepend"})
"""Functions that put all their text into a file."""


def claims_of_lines(
    steps: Sequence[LowChunk],
    keepers: Sequence[LowChunk],
    known: Sequence[Footprint],
    text_of_source: Callable[[LowChunk], str | None],
) -> Iterator[tuple[LowChunk, tuple[str, str, Any]]]:
    """Yield what the lines mean that states put into a file in which ``keepers`` have entries."""
    kept: dict[str, list[LowChunk]] = {}
    for chunk in keepers:
        for file in files_written(known[chunk.index]):
            kept.setdefault(file, []).append(chunk)
    named = [chunk for chunk in steps if isinstance(chunk.name, str)]
    written = [(chunk, found) for chunk in named if (found := kept.get(plain_path(chunk.name)))]
    if not written:
        return
    from asyncstate.extras.contradictions.texts import writer

    for chunk, found in written:
        made = writer(chunk, text_of_source, accumulated=False)
        if made is None or made.edit is None or not (made.whole or chunk.fun in _ADD):
            continue
        of_line = _of_host if found[0].state == "host" else _of_key
        for line in made.edit("").splitlines():
            yield from ((chunk, claim) for claim in of_line(line.partition("#")[0], found))


def _of_host(line: str, _keepers: Sequence[LowChunk]) -> Iterator[tuple[str, str, Any]]:
    address, *names = line.split() or [""]
    if names:
        yield from related("address", address, "host", Members(frozenset(names)))


def _of_key(line: str, keepers: Sequence[LowChunk]) -> Iterator[tuple[str, str, Any]]:
    found = key_in(line)
    if found is None or not found[2]:
        return
    files = {(str(chunk.args.get("user")), str(chunk.args.get("config"))): chunk for chunk in keepers}
    for chunk in files.values():
        present = structs.replace(chunk, fun="present", name=line, args={**chunk.args, "source": None})
        yield from (claim for claim in of_keys(present) if claim[2] == THERE or isinstance(claim[2], Members))
