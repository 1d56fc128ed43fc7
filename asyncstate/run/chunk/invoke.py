"""One chunk, from its verdict to its row: mod_init, attempts, mod_watch.

    verdict of the gate
      does not run    ──▶ row of a skipped chunk
      MET, SKIP_WATCH ──▶ function ──▶ its row
      CHANGE          ──▶ function ──▶ changes, or skip_watch? ── yes ──▶ its row
                                                               ── no ───▶ mod_watch ──▶ its row
      LISTEN          ──▶ mod_watch ──▶ its row

``mod_watch`` gets the same low data; ``sfun`` names the function and ``__reqs__`` holds what the state depends on.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio

from asyncstate.model.chunk import MOD_INIT, MOD_WATCH, REQUISITE_LOWS, TRANSACTION, LowChunk, fresh
from asyncstate.model.encode import plain
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import STATE_RAN
from asyncstate.run.dispatch import SharedWork
from asyncstate.run.gate import Verdict
from asyncstate.run.rows import exception_row, normalise, not_run_row, stopped_retry

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.chunk.aggregation import Aggregation
    from asyncstate.run.chunk.call import Caller
    from asyncstate.run.chunk.retry import RetryPolicy
    from asyncstate.run.dispatch import Supervisor
    from asyncstate.run.machine import Work

    Lows = Callable[[], dict[str, Any]]
    """Returns new low data for each attempt, so that no attempt changes the data of the next."""


_CHUNK = NodeKind.CHUNK
_GROUP = NodeKind.GROUP
_MET = Verdict.MET


class Invoker:
    """Runs the chunks of one plan: mod_init, attempts and mod_watch, as the verdict says."""

    def __init__(self, plan: Plan, supervisor: Supervisor, caller: Caller) -> None:
        self.plan = plan
        self.test: bool = caller.test
        self._supervisor = supervisor
        self._caller = caller
        self._checks: dict[int, Row] = {}
        self._initialised: set[str] = set()
        self._init_locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._group_of = {
            plan.nodes[member].chunk: number
            for number, node in enumerate(plan.nodes)
            if node.kind is _GROUP and not node.transaction
            for member in node.members
        }
        self.aggregation: Aggregation | None = None
        """None if the plan has no groups."""
        if self._group_of:
            from asyncstate.run.chunk.aggregation import Aggregation  # noqa: PLC0415 - few plans have groups

            self.aggregation = Aggregation(caller)
        self._joined = {member for node in plan.nodes if node.transaction for member in node.members}
        self._grouped = self._group_of.keys() | self._joined
        self._transactions: dict[int, dict[str, Any]] = {}

    def low(self, chunk: LowChunk) -> dict[str, Any]:
        """Return a fresh copy of a chunk's low data for one call, as an aggregation left it if there was one."""
        aggregated = None if self.aggregation is None else self.aggregation.lows.get(chunk.index)
        if aggregated is not None:
            own: dict[str, Any] = fresh(aggregated)
            return own
        transaction = self._transactions.get(chunk.index)
        return chunk.as_low() if transaction is None else {**chunk.as_low(), TRANSACTION: _told(transaction)}

    def run_chunk(self, work: Work, chunk: LowChunk) -> Coroutine[Any, Any, Row]:
        """Do what the verdict says for a chunk, its prereq check or a listener, and return the row."""
        if (
            work.verdict is _MET
            and work.kind is _CHUNK
            and chunk.state in self._initialised
            and chunk.index not in self._grouped
            and "retry" not in chunk.args
        ):  # most chunks: one call, with nothing before it and nothing after
            return self._caller.call(work, chunk, chunk.as_low(), early=True)
        return self._run_any(work, chunk)

    async def _run_any(self, work: Work, chunk: LowChunk) -> Row:
        lows = chunk.as_low if work.kind is NodeKind.LISTENER else partial(self.low, chunk)
        problem = None if chunk.state in self._initialised else await self._mod_init(chunk, lows)
        if problem is not None:
            row = _stamped(problem, chunk)
        elif not work.verdict.runs:
            row = self._skipped(work, chunk)
        elif work.kind is NodeKind.LISTENER:
            row = await self._attempts(work, chunk, lows, early=True)
        else:
            row = await self._watched_call(work, chunk, lows)
        if work.kind is NodeKind.CHECK:
            self._checks[chunk.index] = row
        elif work.kind is _CHUNK and not self.test:
            self._share(chunk)
        return row

    def _share(self, chunk: LowChunk) -> None:
        """Pass on the effects of a call on other states, so that a resumed run knows them."""
        rows, changes = ({}, {}) if self.aggregation is None else self.aggregation.take_news()
        transaction = self._transactions.get(chunk.index)
        kept = plain(transaction["kept"]) if transaction is not None else {}
        if rows or changes or kept:
            self._supervisor.share(SharedWork(tag=chunk.tag, rows=rows, changes=changes, kept=kept))

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: SharedWork | None) -> None:
        """Accept the row of a chunk in an earlier run, and the effects of its call on other states."""
        if work.kind is NodeKind.CHECK:
            self._checks[chunk.index] = dict(row)
        if shared is None:
            return
        if self.aggregation is not None:
            self.aggregation.restore({each.tag: each.index for each in self.plan.chunks}, shared.rows, shared.changes)
        transaction = self._transactions.get(chunk.index)
        if transaction is not None:
            transaction["kept"].clear()
            transaction["kept"].update(fresh(shared.kept))

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Let the module of a group fold its members into common calls, without members that their conditions skip.

        Members of a transaction only get each other's low data, and not in a dry run, which changes nothing.
        """
        chunks = [self.plan.chunks[index] for index in members]
        if not self._joined.isdisjoint(members):
            if not self.test:
                self._tell(chunks)
        elif self.aggregation is not None:
            await self._fold(self.aggregation, chunks)

    async def _fold(self, aggregation: Aggregation, chunks: list[LowChunk]) -> None:
        try:
            free = [chunk for chunk in chunks if await self._caller.conditions_hold(chunk)]
            await aggregation.fold(free, self._caller.running)
        except BaseException as error:  # noqa: BLE001 - without an aggregation the members run one by one
            self._caller.raised(error)
            aggregation.abandon(chunks)
            aggregation.notices.append(f"Aggregating {chunks[0].state} states failed: {type(error).__name__}")

    def _tell(self, chunks: list[LowChunk]) -> None:
        """Put the later members of a transaction into the low data of each member."""
        name, kept = uuid4().hex, dict[str, Any]()
        for place, chunk in enumerate(chunks, 1):
            later = [other.as_low() for other in chunks[place:]]
            self._transactions[chunk.index] = {"id": name, "later": later, "kept": kept}

    def _skipped(self, work: Work, chunk: LowChunk) -> Row:
        checked = self._checks.get(chunk.index)
        if checked is not None and work.kind is _CHUNK and _settled_by(checked, work.verdict):
            # The state with the prereq failed, or the check was skipped: the check's row counts, without changes.
            return _stamped({**checked, "changes": {}}, chunk)
        failed = [self.plan.chunks[index] for index in work.failed]
        failed += [self.plan.elsewhere[node] for node in work.elsewhere]
        return _stamped(not_run_row(work.verdict, chunk.name, failed), chunk)

    async def _watched_call(self, work: Work, chunk: LowChunk, lows: Lows) -> Row:
        check, verdict = work.kind is NodeKind.CHECK, work.verdict
        if check:
            return await self._attempts(work, chunk, lows)
        row = await self._settled(work, chunk, lows)
        if verdict is _MET:
            return row
        if verdict is Verdict.SKIP_WATCH:
            row["comment"] = f"{row['comment']} mod_watch was not run because requisites were skipped by another state"
            return row
        if row["changes"] or row.get("skip_watch"):
            return row
        if not await self._caller.has(chunk.state, MOD_WATCH):  # an earlier state has written the module anew
            row["comment"] = f"{row['comment']} mod_watch was not run because the module no longer has it"
            return row
        return await self._attempts(work, chunk, partial(self._watching, chunk), early=True)

    def _watching(self, chunk: LowChunk) -> dict[str, Any]:
        """Return the low data with which ``mod_watch`` is called."""
        return {**self.low(chunk), "sfun": chunk.fun, "fun": MOD_WATCH, REQUISITE_LOWS: self._requisite_lows(chunk)}

    async def _settled(self, work: Work, chunk: LowChunk, lows: Lows) -> Row:
        """Return the row of a chunk: its share of a common call, or the row of its own call.

        A common call that fails is not retried. Instead each member runs on its own, with its own ``retry``.
        """
        if self.aggregation is None:
            return await self._attempts(work, chunk, lows, early=work.verdict is _MET)
        shared = self.aggregation.share(chunk)
        if shared is not None:
            return _stamped(normalise(shared, chunk.name), chunk)
        if not self.aggregation.is_common(chunk):
            alone = chunk.index not in self._group_of
            row = await self._attempts(work, chunk, lows, early=alone and work.verdict is _MET)
        else:
            common = await (self._attempts(work, chunk, lows) if self.test else self._caller.call(work, chunk, lows()))
            if await self.aggregation.split(chunk, common, test=self.test):
                return normalise(common, chunk.name)
            row = await self._attempts(work, chunk, lows)
            row["start_time"], row["duration"] = common["start_time"], round(row["duration"] + common["duration"], 3)
        self.aggregation.settle(chunk, row)
        return row

    def _requisite_lows(self, chunk: LowChunk) -> dict[str, list[dict[str, Any]]]:
        """Return ``__reqs__``: the targets of a chunk by kind; for a member of an aggregate group, the whole group."""
        found: dict[str, list[dict[str, Any]]] = {}
        grouped: dict[str, list[int]] = {}
        for requisite in self.plan.requisites[chunk.index]:
            lows = found.setdefault(requisite.kind.value, [])
            for node in self.plan.nodes[requisite.node].members or (requisite.node,):
                lows.append(self.plan.target_of(node).as_low())
                group = self._group_of.get(self.plan.nodes[node].chunk)
                if group is not None and group not in grouped.setdefault(requisite.kind.value, []):
                    grouped[requisite.kind.value].append(group)
        for kind, groups in grouped.items():
            for group in groups:
                members = self.plan.nodes[group].members
                found[kind].extend(self.plan.chunks[self.plan.nodes[member].chunk].as_low() for member in members)
        return found

    async def _attempts(self, work: Work, chunk: LowChunk, lows: Lows, *, early: bool = False) -> Row:
        """Call the function, and again as ``retry`` says, but not if the low data names nothing callable.

        ``lows`` returns low data for each attempt.
        """
        setting = chunk.args.get("retry") if "retry" in chunk.args and work.kind is not NodeKind.CHECK else _ONCE
        row = await self._caller.call(work, chunk, lows(), early=early and setting is _ONCE)
        if setting is _ONCE or row["__id__"] is None:
            return row
        from asyncstate.run.chunk.retry import RetryPolicy  # noqa: PLC0415 - few states are tried again

        policy, warnings = RetryPolicy.parse(setting)
        if warnings:
            known = row.get("warnings") or []
            row["warnings"] = [*(known if isinstance(known, list) else [known]), *warnings]
        if self.test:
            row["comment"] = f"{row['comment'] or ''}  {policy.forecast()}"
            return row
        return await self._retry(work, chunk, lows, policy, row)

    async def _retry(self, work: Work, chunk: LowChunk, lows: Lows, policy: RetryPolicy, row: Row) -> Row:
        said, spent, began, attempt = [], 0.0, row["start_time"], 1
        while row["result"] != policy.until and attempt < policy.attempts:
            seconds = policy.pause()
            if not await self._supervisor.pause(chunk, attempt, row, seconds):
                stopped = stopped_retry(attempt + 1, policy.attempts)
                row["comment"] = f"{row['comment']}\n{stopped}" if row["comment"] else stopped
                break
            said.append(
                f'Attempt {attempt}: Returned a result of "{row["result"]}", '
                f'with the following comment: "{row["comment"]}"'
            )
            spent += row["duration"] + seconds * 1000
            attempt += 1
            row = await self._caller.call(work, chunk, lows())
        if said:
            row["comment"] = "\n".join([*said, str(row["comment"] or "")])
            row["duration"] = round(row["duration"] + spent, 3)
            row["start_time"] = began
        return row

    async def _mod_init(self, chunk: LowChunk, lows: Lows) -> Row | None:
        """Call ``mod_init`` unless it returned something true before; return a row if it raised."""
        state, caller = chunk.state, self._caller
        try:
            hook = await caller.find(f"{state}.{MOD_INIT}")
            if hook is None:
                self._initialised.add(state)
                return None
            if not await caller.has(state, chunk.fun):
                return None
            async with self._init_locks[state]:
                if state not in self._initialised and bool(await caller.call_hook(hook, (lows(),), chunk)):
                    self._initialised.add(state)
        except BaseException as error:  # noqa: BLE001 - a module may raise anything
            caller.raised(error)
            return exception_row(chunk.name, error)
        return None


_ONCE = object()


def _told(transaction: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a transaction for one member; all members share ``kept``."""
    return {**transaction, "later": fresh(transaction["later"])}


def _stamped(row: Row, chunk: LowChunk) -> Row:
    row["start_time"] = datetime.now().time().isoformat()  # noqa: DTZ005 - Salt's rows carry local time of day
    row["duration"] = 0.0
    row["__id__"], row["__sls__"] = chunk.id, chunk.sls or None
    return row


def _settled_by(checked: Row, verdict: Verdict) -> bool:
    return verdict is Verdict.FAIL or checked.get(STATE_RAN) is False
