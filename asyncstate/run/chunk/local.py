"""LocalDispatch: runs chunks in this process, by calling their state functions through a plugin host."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import EXCLUSIVE, LANE
from asyncstate.run.chunk.call import Caller
from asyncstate.run.chunk.invoke import Invoker
from asyncstate.run.dispatch import Findings, ModuleTraits
from asyncstate.run.rows import RunningView

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    from asyncstate.guard.event_loop import LoopWatch
    from asyncstate.load.host import PluginHost
    from asyncstate.load.plugin import LoadedModule
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.prefetch import Prefetched
    from asyncstate.run.dispatch import SharedWork, Supervisor
    from asyncstate.run.machine import Work


class LocalDispatch:
    """Runs the chunks of one run of ``plan``; a `Dispatch`.

    ``test`` makes it a dry run; with ``mock`` no state function is called. ``watch``, if given, finds the functions
    that hold up the event loop. ``prefetched``, set before the run begins, holds the prefetches for states. ``misused``
    are the chunks whose arguments their functions never accept, whatever other states do.
    """

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        *,
        test: bool = False,
        mock: bool = False,
        watch: LoopWatch | None = None,
    ) -> None:
        self.watch = watch
        self._plan = plan
        self._host = host
        self._test = test
        self._mock = mock
        self.prefetched: Prefetched | None = None
        self.misused: set[int] = set()
        self._invoker: Invoker

    def module_traits(self) -> dict[str, ModuleTraits]:
        """Import the state modules of the plan and return their declarations."""
        modules: dict[str, LoadedModule | None] = {}
        for chunk in self._plan.chunks:
            if modules.get(chunk.state) is None:
                modules[chunk.state] = _module(chunk.function, self._host)
        return {name: _traits(module) for name, module in modules.items() if module is not None}

    @contextmanager
    def begin(self, supervisor: Supervisor, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]) -> Iterator[None]:
        """Prepare for the first chunk, and watch the loop until the last has ended."""
        caller = Caller(
            self._plan,
            self._host,
            supervisor,
            RunningView(rows, elsewhere),
            test=self._test,
            mock=self._mock,
            watch=self.watch,
            prefetched=self.prefetched,
            misused=self.misused,
        )
        self._invoker = Invoker(self._plan, supervisor, caller)
        with self.watch or nullcontext():
            yield

    def run_chunk(self, work: Work, chunk: LowChunk) -> Coroutine[Any, Any, Row]:
        """Call the state function of a chunk, as its verdict says, and return its row."""
        return self._invoker.run_chunk(work, chunk)

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: SharedWork | None) -> None:
        """Accept the row of an earlier run."""
        self._invoker.recall(work, chunk, row, shared)

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group into common calls, if their module can."""
        await self._invoker.aggregate(members)

    def findings(self) -> Findings:
        """Return failures of aggregations, and functions that held up the event loop."""
        aggregation = self._invoker.aggregation
        return Findings(
            () if aggregation is None else aggregation.notices, () if self.watch is None else self.watch.issues
        )


def _module(function: str, host: PluginHost) -> LoadedModule | None:
    try:
        found = host.loaders["states"].find(function)
    except BaseException:  # noqa: BLE001 - a plugin's; the row of the chunk will say what is wrong
        return None
    return found.module if found is not None else None


def _traits(module: LoadedModule) -> ModuleTraits:
    lane = module.attribute(LANE)
    return ModuleTraits(module.attribute(EXCLUSIVE) is True, lane if isinstance(lane, str) else "")
