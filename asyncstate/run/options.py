"""What a run is asked to do, and which of its chunks run alone, in lanes or as failhard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.run.dispatch import ModuleTraits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a plan. ``timeout`` is in seconds; ``failhard`` is the default for chunks that say nothing.

    ``lanes`` says how many states may be in a lane at once. ``host`` is the name of this host in log lines.
    """

    run_id: str
    host: str = ""
    concurrency: int = 1
    test: bool = False
    failhard: bool = False
    shuffle: int | None = None
    timeout: float | None = None
    lanes: dict[str, int] = {}


class Traits(msgspec.Struct, frozen=True):
    """Chunks by index: whose failure stops the run, which run alone, which are in what lanes."""

    failhard: frozenset[int]
    exclusive: frozenset[int]
    lanes: dict[int, list[str]]

    @classmethod
    def of(cls, plan: Plan, options: RunOptions, modules: Mapping[str, ModuleTraits]) -> Traits:
        """Unite what the chunks say of themselves with what their ``modules`` say of all their functions.

        A chunk runs alone by ``exclusive: True``, by an argument ``umask``, or as all of its module do, but not with
        ``exclusive: False``. It is in the lanes that it names with ``lane`` and in that of its module.
        """
        lanes = {chunk.index: _lanes(chunk, modules.get(chunk.state, _NOTHING)) for chunk in plan.chunks}
        return cls(
            frozenset(
                chunk.index
                for chunk in plan.chunks
                if not options.test and chunk.args.get("failhard", options.failhard)
            ),
            frozenset(
                chunk.index
                for chunk in plan.chunks
                if chunk.args.get("exclusive", modules.get(chunk.state, _NOTHING).exclusive) is True
                or "umask" in chunk.args
            ),
            {index: named for index, named in lanes.items() if named},
        )


_NOTHING = ModuleTraits()


def _lanes(chunk: LowChunk, module: ModuleTraits) -> list[str]:
    named = chunk.args.get("lane")
    lanes = {str(lane) for lane in (named if isinstance(named, list) else [named] if named else [])}
    return sorted(lanes | {module.lane} if module.lane else lanes)
