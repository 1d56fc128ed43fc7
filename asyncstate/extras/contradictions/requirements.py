"""The packages in requirements files of `pip` and `virtualenv`, as far as the tree has their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.effects.resources import plain_path
from asyncstate.extras.contradictions.python_packages import of_requirements
from asyncstate.extras.contradictions.texts import writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.compile.low.salt_sources import SaltSources
    from asyncstate.model.chunk import LowChunk

_INSTALL = frozenset({"pip.installed", "virtualenv.managed"})


def claims_of_files(steps: Sequence[LowChunk], sources: SaltSources) -> Iterator[tuple[LowChunk, tuple[str, str, Any]]]:
    """Yield what the requirements say that these states install."""
    written = {plain_path(chunk.name): chunk for chunk in steps if chunk.function == "file.managed"}
    for chunk in steps:
        given = chunk.args.get("requirements") if chunk.function in _INSTALL else None
        for file in given if isinstance(given, list) else [given]:
            text = _text(file, chunk, written, sources) if isinstance(file, str) else None
            yield from ((chunk, claim) for claim in of_requirements(chunk, _packages(text) if text else ()))


def _text(file: str, chunk: LowChunk, written: dict[str, LowChunk], sources: SaltSources) -> str | None:
    if file.startswith(SALT_SCHEME):
        return sources.source_of(structs.replace(chunk, args={**chunk.args, "source": file}))
    maker = written.get(plain_path(file))
    made = writer(maker, sources.source_of, accumulated=False) if maker is not None else None
    return made.edit("") if made is not None and made.edit is not None else None


def _packages(text: str) -> Iterator[str]:
    """Yield the packages of a text, with their versions, without those that only some machines need."""
    for line in text.splitlines():
        package = line.partition("#")[0].partition(" --")[0]
        if ";" not in package:
            yield package
