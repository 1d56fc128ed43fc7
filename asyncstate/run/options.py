"""The options of a run, and its chunks that are exclusive, in lanes or failhard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.run.dispatch import ModuleTraits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.plan import Plan


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run. ``timeout`` is in seconds; ``failhard`` is the default for chunks without that argument.

    ``lanes`` has the number of places of each lane. ``host`` is the name of this host in log lines. ``priority`` has a
    number for each node of the plan: the ready node with the lowest starts first. Without it, ``shuffle`` seeds a
    random one, and without both it is the serial order. ``prefetch`` is the number of fetches at once for later states;
    a dry run has none.

    Raises ValueError for a concurrency below one, a timeout that is negative or no number, a lane without a place, and
    a negative number of fetches.
    """

    run_id: str
    host: str = ""
    concurrency: int = 1
    test: bool = False
    failhard: bool = False
    shuffle: int | None = None
    priority: tuple[int, ...] | None = None
    timeout: float | None = None
    lanes: dict[str, int] = {}
    prefetch: int = 0

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency is the number of states at once, so at least 1, not {self.concurrency}")
        if self.timeout is not None and not self.timeout >= 0:
            raise ValueError(f"timeout is in seconds, so at least 0, not {self.timeout}")
        if self.prefetch < 0:
            raise ValueError(f"prefetch is the number of fetches at once, so at least 0, not {self.prefetch}")
        for lane, places in self.lanes.items():
            if places < 1:
                raise ValueError(f"lane {lane!r} has a number of places, so at least 1, not {places}")


def priority_of(plan: Plan, options: RunOptions) -> tuple[int, ...]:
    """Return a number for each node of the plan: the ready node with the lowest starts first."""
    if options.priority is not None:
        return options.priority
    return plan.rank if options.shuffle is None else shuffled(plan, options.shuffle)


def shuffled(plan: Plan, seed: int) -> tuple[int, ...]:
    """Return a random priority, the same for the same seed. It is legal, for only the graph forbids an order."""
    import random  # noqa: PLC0415 - few runs are shuffled

    values = list(plan.rank)
    random.Random(seed).shuffle(values)  # noqa: S311 - a reproducible order, not a secret
    return tuple(values)


class Traits(msgspec.Struct, frozen=True):
    """Traits of chunks, by index: those that are failhard, those that run alone, and the lanes of each."""

    failhard: frozenset[int]
    exclusive: frozenset[int]
    lanes: dict[int, list[str]]

    @classmethod
    def of(cls, plan: Plan, options: RunOptions, modules: Mapping[str, ModuleTraits]) -> Traits:
        """Combine the arguments of the chunks with the declarations of their ``modules`` for all functions.

        A chunk runs alone if it has ``umask`` or ``exclusive: True``, or if its module is exclusive and the chunk does
        not say ``exclusive: False``. It is in the lanes that its ``lane`` names and in its module's lane.
        """
        marked = {name for name, module in modules.items() if module.lane or module.exclusive}
        chosen = [chunk for chunk in plan.chunks if chunk.state in marked or not _ARGUMENTS.isdisjoint(chunk.args)]
        failhard = set(range(len(plan.chunks))) if options.failhard else set()
        exclusive = set()
        lanes = {}
        for chunk in chosen:
            args, module = chunk.args, modules.get(chunk.state, _NOTHING)
            if args.get("failhard", options.failhard):
                failhard.add(chunk.index)
            else:
                failhard.discard(chunk.index)
            if args.get("exclusive", module.exclusive) is True or "umask" in args:
                exclusive.add(chunk.index)
            if named := _lanes(args.get("lane"), module):
                lanes[chunk.index] = named
        return cls(frozenset() if options.test else frozenset(failhard), frozenset(exclusive), lanes)


_NOTHING = ModuleTraits()
_ARGUMENTS = frozenset({"exclusive", "failhard", "lane", "umask"})
"""Arguments of chunks that name traits."""


def _lanes(named: Any, module: ModuleTraits) -> list[str]:
    lanes = {str(lane) for lane in (named if isinstance(named, list) else [named] if named else [])}
    return sorted(lanes | {module.lane} if module.lane else lanes)
