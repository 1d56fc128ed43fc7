"""What a run is asked to do, and what a plan and its modules say about how its chunks may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.hooks import EXCLUSIVE, LANE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.load.host import PluginHost
    from asyncstate.load.plugin import LoadedModule
    from asyncstate.model.plan import Plan


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a plan. ``timeout`` is in seconds; ``failhard`` is the default for chunks that say nothing.

    ``lanes`` says how many states may be in a lane at once. With ``mock`` no state function is called.
    """

    run_id: str
    concurrency: int = 1
    test: bool = False
    failhard: bool = False
    shuffle: int | None = None
    timeout: float | None = None
    lanes: dict[str, int] = {}
    mock: bool = False


class Traits(msgspec.Struct, frozen=True):
    """Chunks by index: whose failure stops the run, which run alone, which are in what lanes."""

    failhard: frozenset[int]
    exclusive: set[int]
    lanes: dict[int, list[str]]

    @classmethod
    def of(cls, plan: Plan, host: PluginHost, options: RunOptions) -> Traits:
        """Ask the chunks and their modules, which are imported for that: not a thing to do on an event loop."""
        modules = _modules(plan, host)
        return cls(_failhard(plan, options), _exclusive(plan, modules), _lanes(plan, modules))


def _modules(plan: Plan, host: PluginHost) -> dict[str, LoadedModule | None]:
    """Return the state modules of a plan by name; None where none of the functions named is there."""
    modules: dict[str, LoadedModule | None] = {}
    for chunk in plan.chunks:
        if modules.get(chunk.state) is None:
            modules[chunk.state] = _module(chunk.function, host)
    return modules


def _module(function: str, host: PluginHost) -> LoadedModule | None:
    try:
        found = host.loaders["states"].find(function)
    except BaseException:  # noqa: BLE001 - a plugin's; the row of the chunk will say what is wrong
        return None
    return found.module if found is not None else None


def _exclusive(plan: Plan, modules: Mapping[str, LoadedModule | None]) -> set[int]:
    """Return the chunks that run alone: by ``exclusive: True``, by an argument ``umask``, or as all of their module do.

    A module says it with ``__exclusive__ = True``; ``exclusive: False`` on a state takes that back.
    """
    declared = _module_attribute(EXCLUSIVE, modules)
    return {
        chunk.index
        for chunk in plan.chunks
        if chunk.args.get("exclusive", declared[chunk.state]) is True or "umask" in chunk.args
    }


def _lanes(plan: Plan, modules: Mapping[str, LoadedModule | None]) -> dict[int, list[str]]:
    """Return the lanes of chunks: those they name with ``lane``, and the one their module names with ``__lane__``."""
    declared = _module_attribute(LANE, modules)
    found = {}
    for chunk in plan.chunks:
        named = chunk.args.get("lane")
        lanes = {str(lane) for lane in (named if isinstance(named, list) else [named] if named else [])}
        own = declared[chunk.state]
        if isinstance(own, str) and own:
            lanes.add(own)
        if lanes:
            found[chunk.index] = sorted(lanes)
    return found


def _module_attribute(name: str, modules: Mapping[str, LoadedModule | None]) -> dict[str, Any]:
    return {state: module.attribute(name) if module is not None else None for state, module in modules.items()}


def _failhard(plan: Plan, options: RunOptions) -> frozenset[int]:
    if options.test:
        return frozenset()
    return frozenset(chunk.index for chunk in plan.chunks if chunk.args.get("failhard", options.failhard))
