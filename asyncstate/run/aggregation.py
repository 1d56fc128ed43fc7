"""Aggregation at run time: ``mod_aggregate`` before the first member of a group runs, ``mod_aggregate_split`` after it.

The module works on this run's own low data, so what it changes there holds for the rest of the run. A member that was
folded into another runs at its own place all the same, as in Salt, unless the module can split the outcome: then its
row is its share, and what watches it sees its changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.errors import FunctionNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from asyncstate.load.loader import LoadedFunction
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row


class HookCaller(Protocol):
    """What calls a module's hooks: the invoker."""

    async def find(self, name: str) -> LoadedFunction | FunctionNotFound:
        """Look a state function up."""

    async def call_hook(self, function: LoadedFunction, args: tuple[Any, ...], chunk: LowChunk) -> Any:
        """Call it in the context of a chunk."""

    def raised(self, error: BaseException) -> None:
        """Raise a cancellation of this run again."""


class Aggregation:
    """What ``mod_aggregate`` made of the low data of a run. ``notices`` says what went wrong."""

    def __init__(self, caller: HookCaller) -> None:
        self.lows: dict[int, dict[str, Any]] = {}
        self.notices: list[str] = []
        self._caller = caller
        self._folded: dict[int, list[LowChunk]] = {}
        self._shares: dict[int, Row] = {}

    async def fold(self, ready: Sequence[LowChunk], running: Mapping[str, Row]) -> None:
        """Call ``mod_aggregate`` for the members of a group that may run.

        First for the first member, then for each later one the module has not marked ``__agg__``. One that fails leaves
        its member to run alone.
        """
        function = await self._caller.find(f"{ready[0].state}.mod_aggregate") if ready else None
        if function is None or isinstance(function, FunctionNotFound):
            return
        for chunk in ready:
            self.lows[chunk.index] = chunk.as_low()
        for chunk in ready:
            if self.lows[chunk.index].get("__agg__"):
                continue
            await self._fold_into(chunk, ready, function, dict(running))

    async def _fold_into(
        self, chunk: LowChunk, ready: Sequence[LowChunk], function: LoadedFunction, running: dict[str, Row]
    ) -> None:
        low = self.lows[chunk.index]
        low["__agg__"] = True
        free = [other for other in ready if not self.lows[other.index].get("__agg__")]
        lows = [self.lows[other.index] for other in ready]
        changed = await self._call(function, (low, lows, running), chunk)
        if isinstance(changed, dict):
            if "pkgs" not in chunk.args:
                _keep_own_name(changed)
            self.lows[chunk.index] = changed
            self._folded[chunk.index] = [other for other in free if self.lows[other.index].get("__agg__")]
        elif changed is not _FAILED:
            self._note(function, chunk, f"it returned {type(changed).__name__}, not low data")

    def share(self, chunk: LowChunk) -> Row | None:
        """Return the row of a member whose work another has done, None for all others."""
        return self._shares.pop(chunk.index, None)

    async def split(self, chunk: LowChunk, row: Row) -> None:
        """Let the module say which changes in the row of a common call are whose. A failed call is nobody's."""
        folded = self._folded.pop(chunk.index, None)
        if not folded or row["result"] is False:
            return
        function = await self._caller.find(f"{chunk.state}.mod_aggregate_split")
        if isinstance(function, FunctionNotFound):
            return
        members = (chunk, *folded)
        lows = [self.lows[member.index] for member in members]
        shares = await self._call(function, (self.lows[chunk.index], lows, dict(row)), chunk)
        if shares is _FAILED:
            return
        if not isinstance(shares, dict) or not all(isinstance(changes, dict) for changes in shares.values()):
            self._note(function, chunk, "it must return the changes of each member by state tag")
            return
        for member in folded:
            self._shares[member.index] = {**row, "name": member.name, "changes": shares.get(member.tag, {})}
        row["changes"] = shares.get(chunk.tag, {})

    async def _call(self, function: LoadedFunction, args: tuple[Any, ...], chunk: LowChunk) -> Any:
        try:
            return await self._caller.call_hook(function, args, chunk)
        except BaseException as error:  # noqa: BLE001 - a module may raise anything
            self._caller.raised(error)
            self._note(function, chunk, str(error))
            return _FAILED

    def _note(self, function: LoadedFunction, chunk: LowChunk, what: str) -> None:
        self.notices.append(f"{function.name} failed for {chunk.place}: {what}")


def _keep_own_name(low: dict[str, Any]) -> None:
    """Put the name of a state among the ``pkgs`` that were folded into it.

    With ``pkgs`` a state no longer looks at its name, and a module that only collects those of the others (Salt's own
    does) would lose it.
    """
    pkgs = low.get("pkgs")
    if not isinstance(pkgs, list):
        return
    known = {name for item in pkgs for name in (item if isinstance(item, dict) else [item])}
    if low["name"] not in known:
        low["pkgs"] = [low["name"], *pkgs]


_FAILED = object()
