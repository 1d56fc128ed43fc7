"""Aggregation at run time: ``mod_aggregate`` before the first member of a group runs, ``mod_aggregate_split`` after it.

    mod_aggregate ──▶ common call, in the position of the first member ──▶ mod_aggregate_split
                        succeeded, can split    ──▶ each member gets its share of the row
                        succeeded, cannot split ──▶ each other member still runs in its own position, as in Salt
                        failed                  ──▶ each member, also the first, runs with its own low data

The module changes the low data of this run, so its changes hold for the rest of the run. States that watch a member see
its share of the changes. If a common call fails, its changes are added to the rows of the members they belong to.
"""

from __future__ import annotations

import inspect
from collections import ChainMap
from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import AGGREGATED, MOD_AGGREGATE, MOD_AGGREGATE_SPLIT, fresh
from asyncstate.model.requisite import INTERNAL_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row
    from asyncstate.run.chunk.call import Caller

Low = dict[str, Any]
Changes = dict[str, Any]

_OWN_VERDICT = ("check_cmd",)
"""Keywords that let only a member's own call decide whether it succeeded."""


class Aggregation:
    """The low data of a run as ``mod_aggregate`` changed it. ``notices`` report its failures."""

    def __init__(self, caller: Caller) -> None:
        self.lows: dict[int, Low] = {}
        self.notices: list[str] = []
        self._caller = caller
        self._folded: dict[int, list[LowChunk]] = {}
        self._shares: dict[int, Row] = {}
        self._pending: dict[int, tuple[Changes, str]] = {}
        self._new_shares: dict[str, Row] = {}
        self._new_pending: dict[str, tuple[Changes, str]] = {}

    async def fold(self, ready: Sequence[LowChunk], running: Mapping[str, Row]) -> None:
        """Call ``mod_aggregate`` for the members of a group that may run.

        It is called for the first member, then for each later member that the module has not marked ``__agg__``, with
        the members that have not had a call yet: as in Salt, the earlier ones have run by then. A failed call is the
        last one: members that are not in a common call by then run on their own.
        """
        function = await self._caller.find(f"{ready[0].state}.{MOD_AGGREGATE}") if ready else None
        if function is None:
            return
        for chunk in ready:
            self.lows[chunk.index] = chunk.as_low()
        done: set[int] = set()
        waiting = [*ready]
        for chunk in ready:
            if self.lows[chunk.index].get(AGGREGATED):
                continue
            taken = await self._fold_into(chunk, waiting, function, running)
            if taken is None:
                break
            waiting.remove(chunk)
            done.update(member.index for member in (chunk, *taken))
        for chunk in ready:
            wrong = _wrong_with(self.lows[chunk.index], chunk) if chunk.index in done else ""
            if wrong:
                self._note(function, chunk, wrong)
                self._folded.pop(chunk.index, None)
            if wrong or chunk.index not in done:
                self.lows[chunk.index] = chunk.as_low()

    async def _fold_into(
        self, chunk: LowChunk, waiting: Sequence[LowChunk], function: LoadedFunction, running: Mapping[str, Row]
    ) -> list[LowChunk] | None:
        """Return the members that were folded into the low data of ``chunk``; None if the module failed."""
        self.lows[chunk.index][AGGREGATED] = True
        free = [other for other in waiting if not self.lows[other.index].get(AGGREGATED)]
        lows = [self.lows[other.index] for other in waiting]
        rows: Mapping[str, Row] = ChainMap({}, running)  # type: ignore[arg-type] # the module's writes go to the first
        changed = await self._call(function, (self.lows[chunk.index], lows, rows), chunk)
        if changed is _FAILED:
            return None
        wrong = _wrong_with(changed, chunk)
        if wrong:
            self._note(function, chunk, wrong)
            return None
        if "pkgs" not in chunk.args:
            _keep_own_name(changed)
        self.lows[chunk.index] = changed
        taken = [other for other in free if self.lows[other.index].get(AGGREGATED)]
        if taken:
            self._folded[chunk.index] = taken
        return taken

    def abandon(self, chunks: Iterable[LowChunk]) -> None:
        """Make these states run one by one, with their own low data."""
        for chunk in chunks:
            self.lows.pop(chunk.index, None)
            self._folded.pop(chunk.index, None)

    def is_common(self, chunk: LowChunk) -> bool:
        """Return whether the low data of a chunk also does the work of other members."""
        return chunk.index in self._folded

    def share(self, chunk: LowChunk) -> Row | None:
        """Return the row of a member whose work a common call has done, None for all others."""
        return self._shares.pop(chunk.index, None)

    async def split(self, chunk: LowChunk, row: Row, *, test: bool = False) -> bool:
        """Split the row of a common call; return False if its own member, too, must run on its own.

        The module says which changes belong to which member. If it cannot, the row of a successful call stays as it is,
        as in Salt; each change of a failed call goes to the member whose name is its key.
        """
        members = (chunk, *self._folded.pop(chunk.index))
        failed = row["result"] is False or (bool(row.get("skip_watch")) and not row["changes"])
        shares = await self._shares_of(members, row, failed=failed)
        if failed:
            for member in members:
                self.lows[member.index] = member.as_low()
        if shares is None:
            return True
        for member in members[1:]:
            changes = shares.get(member.tag, {})
            if failed or _runs_itself(member, row, changes):
                self._add_later(member, changes, members, test=test)
            else:
                share = {**row, "name": member.name, "changes": changes}
                self._shares[member.index] = self._new_shares[member.tag] = share
        row["changes"] = shares.get(chunk.tag, {})
        if not failed and (row["result"] is not None or row["changes"]):
            return True
        self.lows[chunk.index] = chunk.as_low()
        self._add_later(chunk, row["changes"], members, test=test)
        return False

    async def _shares_of(self, members: Sequence[LowChunk], row: Row, *, failed: bool) -> dict[str, Changes] | None:
        first = members[0]
        function = await self._caller.find(f"{first.state}.{MOD_AGGREGATE_SPLIT}")
        if function is not None:
            lows = [self.lows[member.index] for member in members]
            shares = await self._call(function, (lows[0], lows, fresh(row)), first)
            if isinstance(shares, dict) and all(isinstance(changes, dict) for changes in shares.values()):
                return shares
            if shares is not _FAILED:
                self._note(function, first, "it must return the changes of each member by state tag")
        return _by_name(members, row["changes"]) if failed else None

    def _add_later(self, member: LowChunk, changes: Changes, members: Sequence[LowChunk], *, test: bool) -> None:
        """Keep changes for the row of a member that runs on its own. In a dry run there are none."""
        if changes and not test:
            said = f"A call for {len(members)} states together made these changes."
            self._pending[member.index] = self._new_pending[member.tag] = (changes, said)

    def take_news(self) -> tuple[dict[str, Row], dict[str, tuple[Changes, str]]]:
        """Return, by tag, the shares and the changes to add that are new since the last call."""
        news = self._new_shares, self._new_pending
        if news[0] or news[1]:
            self._new_shares, self._new_pending = {}, {}
        return news

    def restore(
        self, indexes: Mapping[str, int], shares: Mapping[str, Row], pending: Mapping[str, tuple[Changes, str]]
    ) -> None:
        """Restore the effects of a common call of an earlier run on other states."""
        self._shares.update({indexes[tag]: row for tag, row in shares.items() if tag in indexes})
        self._pending.update({indexes[tag]: each for tag, each in pending.items() if tag in indexes})

    def settle(self, chunk: LowChunk, row: Row) -> None:
        """Add the changes that a common call made for a member to the row of its own call."""
        pending = self._pending.pop(chunk.index, None)
        if pending is not None:
            changes, said = pending
            row["changes"] = _united(changes, row["changes"])
            row["comment"] = f"{row['comment']}\n{said}" if row["comment"] else said

    async def _call(self, function: LoadedFunction, args: tuple[Any, ...], chunk: LowChunk) -> Any:
        try:
            returned = await self._caller.call_hook(function, args, chunk)
        except BaseException as error:  # noqa: BLE001 - a module may raise anything
            self._caller.raised(error)
            self._note(function, chunk, _error_text(error))
            return _FAILED
        if inspect.iscoroutine(returned):
            returned.close()
        return returned

    def _note(self, function: LoadedFunction, chunk: LowChunk, what: str) -> None:
        self.notices.append(f"{function.name} failed for {chunk.place}: {what}. The states run one by one")


def _error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its text is the plugin's, too
        return type(error).__name__


def _wrong_with(low: Any, chunk: LowChunk) -> str:
    """Return why a module's low data cannot be that of ``chunk``; "" if it can."""
    if not isinstance(low, dict):
        return f"it returned {type(low).__name__}, not low data"
    if not low:
        return "it returned low data with nothing in it"
    for key, own in (("state", chunk.state), ("__id__", chunk.id), ("fun", chunk.fun), ("name", chunk.name)):
        if key not in low:
            return f"it took {key!r} out of the low data"
        if low[key] != own and (key in {"state", "__id__"} or type(low[key]) is not type(own)):
            return f"it changed {key!r} of the low data"
    pkgs = low.get("pkgs")
    if pkgs is not None and "pkgs" not in chunk.args and not _is_package_list(pkgs):
        return f"it left 'pkgs' that are no list of names ({type(pkgs).__name__})"
    try:
        fresh(low)
    except RecursionError:
        return "it left low data that contains itself"
    return ""


def _is_package_list(pkgs: Any) -> bool:
    return isinstance(pkgs, list) and all(isinstance(item, (str, int, float, dict)) for item in pkgs)


def _runs_itself(member: LowChunk, row: Row, changes: Changes) -> bool:
    """Whether the common call does not decide a member's row, so that it must run on its own."""
    return any(keyword in member.args for keyword in _OWN_VERDICT) or (row["result"] is None and not changes)


def _by_name(members: Sequence[LowChunk], changes: Changes) -> dict[str, Changes]:
    """Give each change to the first member that names its key, or else to the first of all members."""
    owners: dict[Any, str] = {}
    for member in members:
        for name in _names(member):
            owners.setdefault(name, member.tag)
    shares: dict[str, Changes] = {}
    for key, change in changes.items():
        shares.setdefault(owners.get(key, members[0].tag), {})[key] = change
    return shares


def _names(member: LowChunk) -> set[Any]:
    found: set[Any] = {member.name}
    for key, value in member.args.items():
        if key not in INTERNAL_KEYWORDS and isinstance(value, list):
            found.update(name for item in value for name in (item if isinstance(item, dict) else (str(item),)))
    return found


def _united(before: Changes, after: Changes) -> Changes:
    """Return the changes of two successive calls as one."""
    both = {**before, **after}
    for key in before.keys() & after.keys():
        one, two = before[key], after[key]
        if isinstance(one, dict) and isinstance(two, dict):
            steps = one.keys() == two.keys() == {"old", "new"}
            both[key] = {"old": one["old"], "new": two["new"]} if steps else _united(one, two)
    return both


def _keep_own_name(low: Low) -> None:
    """Add the name of a state to the ``pkgs`` that were folded into it.

    A state with ``pkgs`` ignores its name, so a module that only collects the names of the others, as Salt's own does,
    would lose it.
    """
    pkgs = low.get("pkgs")
    if not isinstance(pkgs, list):
        return
    known = {name for item in pkgs for name in (item if isinstance(item, dict) else [item])}
    if low["name"] not in known:
        low["pkgs"] = [low["name"], *pkgs]


_FAILED = object()
