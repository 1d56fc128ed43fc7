"""Text of edits from files instead of arguments: source, sources and their hashes."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __env__, __salt__, failed, runtime_services
from asyncstate.errors import AsyncStateError, CommandExecutionError

from .arguments import is_remote


class SourceError(CommandExecutionError):
    """A source gives no text; the message is the row's comment."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__(message)
        self.source = source


def without_text(error: SourceError) -> Row:
    """Return the row of a state whose source gives no text: as in Salt, the row is named after the source."""
    return {**failed(error.source, str(error)), "data": []}


def paired(source: Any, source_hash: Any, sources: Any, source_hashes: Any) -> list[tuple[Any, Any]]:
    """Return every source with its hash. Raises CommandExecutionError if both ``source`` and ``sources`` are given."""
    if source and sources:
        raise CommandExecutionError("source and sources are mutually exclusive")
    if source_hash and source_hashes:
        raise CommandExecutionError("source_hash and source_hashes are mutually exclusive")
    if source:
        return [(source, source_hash)]
    sources = sources or []
    return list(zip_longest(sources, (source_hashes or [])[: len(sources)]))


def rendered_texts(sources: list[tuple[Any, Any]], template: str | None, context: Any, defaults: Any) -> list[str]:
    """Return the rendered text of every source. Raises SourceError with the failed source and the reason."""
    variables = {**(defaults or {}), **(context or {})}
    return [_rendered(str(source), source_hash, template, variables) for source, source_hash in sources]


def _rendered(source: str, source_hash: Any, template: str | None, variables: dict[str, Any]) -> str:
    saltenv = str(__env__)
    cached = __salt__["cp.cache_file"](source, saltenv)
    if not cached:
        raise SourceError(source, f"Failed to load template file {source}")
    if source_hash and is_remote(source):
        wanted = __salt__["file.get_source_sum"]("", source, source_hash, None, saltenv)
        if __salt__["file.get_hash"](cached, wanted["hash_type"]) != wanted["hsum"]:
            raise SourceError(source, f"The checksum of {source} is not {wanted['hsum']}")
    if not template:
        text = filesystem.read_bytes(cached).decode()
    else:
        try:
            text = runtime_services().render_template(Path(cached), template, {"source": source, **variables}, saltenv)
        except AsyncStateError as error:
            raise SourceError(source, f"Failed to load template file {source}: {error}") from error
    if not text:
        raise SourceError(source, f"Failed to read rendered template file {cached} ({source})")
    return str(text)
