"""The compiler's side of the language server: one look at the tree, in a process of its own.

Nothing is done that ``check`` and ``lint`` would not do: templates are rendered, no state runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.errors import CompileError
from asyncstate.logs.loggers import get_logger
from asyncstate.lsp.index import REQUISITES
from asyncstate.lsp.messages import Argument, Catalog, Compiled, Function, Rendered, Seen
from asyncstate.reference.lookup import documentation
from asyncstate.runtime import StateRuntime

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator

    from asyncstate.config import Settings
    from asyncstate.lsp.messages import Answer, Job
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_DEEPEST = 6
"""Pillar keys are offered down to this depth."""


def look(job: Job, settings: Settings, say: Callable[[Answer], None]) -> None:
    """Compile the tree with the texts of a job, and say what it has."""
    runtime = StateRuntime(settings, texts=job.texts)
    with runtime.open_sync():
        say(Seen(tuple(_keys(runtime.host.pillar)), tuple(_keys(runtime.host.grains))))
        try:
            say(Compiled(_states(runtime.shown(runtime.compile_sync()))))
        except CompileError as error:
            log.debug("%s", error)
        if job.catalog:
            say(_catalog(runtime))


def _keys(data: Any, above: str = "", depth: int = 1) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(key, str):
                yield f"{above}{key}"
                if depth < _DEEPEST:
                    yield from _keys(value, f"{above}{key}:", depth + 1)


def _states(plan: Plan) -> tuple[Rendered, ...]:
    return tuple(
        Rendered(chunk.id, chunk.state, str(chunk.name), chunk.sls, chunk.file, chunk.line, tuple(_references(chunk)))
        for chunk in plan.chunks
    )


def _references(chunk: LowChunk) -> Iterator[tuple[str, str]]:
    """Yield the module and the target of each requisite, as the rendered file has it."""
    for keyword in REQUISITES.intersection(chunk.args):
        listed = chunk.args[keyword]
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, str):
                yield "", item
            elif isinstance(item, Mapping):
                yield from ((str(module), str(target)) for module, target in item.items())


def _catalog(runtime: StateRuntime) -> Catalog:
    return Catalog(
        {
            name: Function(
                entry["doc"],
                msgspec.convert(entry["arguments"], tuple[Argument, ...]),
                entry["example"],
                entry["file"],
            )
            for name, entry in documentation(runtime.host.loaders["states"], None).items()
        }
    )
