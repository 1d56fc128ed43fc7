"""Engine: drives a machine with worker tasks, keeps time, emits events, and ends in a report.

A worker takes what is ready, runs it in place and takes the next; tasks are not made per state. Concurrency is the
number of chunks that run, never a number of threads, so calls that need further threads cannot starve each other.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import msgspec

from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    Event,
    RunFinished,
    RunStarted,
    StateEvent,
)
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import Outcome, RunReport
from asyncstate.redact.secrets import Secrets
from asyncstate.redact.shown import ShownPlan
from asyncstate.run.invoke import Invoker
from asyncstate.run.loop_watch import LoopWatch
from asyncstate.run.machine import Machine
from asyncstate.run.rows import failed_row, number_rows, sub_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from asyncstate.load.host import PluginHost
    from asyncstate.load.plugin import LoadedModule
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.machine import Work

_TURN = 0.005
"""Seconds a worker may go on without giving others (events, signals, other workers) their turn."""
_LONG = 10.0
"""Seconds after which a chunk that still runs is named, and named again."""


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


class Engine:
    """One run of one plan. ``observers`` are called with each event, in order, before anything else happens.

    ``secrets`` are texts that neither rows nor events may show: inside the engine everything has its true name, what
    leaves it goes through `ShownPlan`. With a ``clock`` of your own nobody watches whether a plugin holds up the event
    loop: only real time tells.
    """

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        options: RunOptions,
        observers: Sequence[Callable[[Event], None]] = (),
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.perf_counter,
        secrets: Secrets | None = None,
    ) -> None:
        self.plan = plan
        self._shown = ShownPlan(plan, Secrets() if secrets is None else secrets)
        self.options = options
        self._observers = list(observers)
        self._sleep = sleep
        self._clock = clock
        self._failhard = _failhard_chunks(plan, options)
        modules = _modules(plan, host)
        self._machine = Machine(
            plan,
            failhard=self._failhard,
            exclusive=_exclusive_chunks(plan, modules),
            lanes=_lanes(plan, modules),
            limits=options.lanes,
            shuffle=options.shuffle,
        )
        self._rows: dict[str, Row] = {}
        self._subs: dict[str, dict[str, Row]] = {}
        self._early: dict[int, int] = {}
        self._invoker = Invoker(plan, host, self._rows, test=options.test, pause=self._pause, mock=options.mock)
        self._busy = 0
        self._workers = 0
        self._idle: list[anyio.Event] = []
        self._resuming: deque[anyio.Event] = deque()
        self._since: dict[str, float] = {}
        self._groups: dict[int, str] = {}
        self._watch: LoopWatch | None = None
        self._sequence = 0
        self._began = clock()
        self._turn = 0.0
        self._cancelled = ""
        self._scope = anyio.CancelScope()

    @property
    def rows(self) -> dict[str, Row]:
        """The rows of the states that have ended so far, by tag, as they are shown."""
        return {self._shown.tag(tag): self._shown.row(tag, row) for tag, row in self._rows.items()}

    @property
    def running(self) -> list[str]:
        """The tags of the states that run now, as they are shown."""
        return [self._shown.tag(tag) for tag in self._since]

    def stop(self, reason: str) -> None:
        """Start nothing more; let what runs finish. The report says ``reason``."""
        self._cancelled = self._cancelled or reason
        self._machine.stop(reason)
        self._wake(len(self._idle))

    def cancel(self, reason: str) -> None:
        """Cancel what runs, too. Each chunk that was running gets a failed row."""
        self.stop(reason)
        self._scope.cancel()

    async def run(self) -> RunReport:
        """Run the plan to its end. Never raises for what a state does; cancelling the task cancels the run."""
        self._began = self._clock()
        wall = time.time()
        if self._observers:
            warnings = tuple(str(issue) for issue in self.plan.warnings)
            self._emit(
                RunStarted,
                wall=wall,
                digest=self.plan.digest,
                chunks=len(self.plan.chunks),
                concurrency=self.options.concurrency,
                test=self.options.test,
                shuffle=self.options.shuffle,
                warnings=warnings,
            )
        if self.options.timeout is not None:
            self._scope.deadline = anyio.current_time() + self.options.timeout
        if self._clock is time.perf_counter:
            self._watch = LoopWatch(asyncio.get_running_loop())
        with self._watch or nullcontext(), self._scope:
            await self._work_off()
        if self._scope.cancelled_caught and not self._cancelled:
            self._cancelled = f"out of time after {self.options.timeout:g} seconds"
        return self._report()

    # workers

    async def _work_off(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._name_long_running)
            async with anyio.create_task_group() as workers:
                self._group = workers
                self._hire()
            group.cancel_scope.cancel()

    def _hire(self, own: int = 0) -> None:
        """Have as many workers at it as there is work and room for; the caller takes ``own`` pieces itself."""
        wanted = min(self._machine.ready - own, self.options.concurrency - self._busy)
        if wanted <= 0:
            return
        woken = min(wanted, len(self._idle))
        self._wake(woken)
        for _ in range(min(wanted - woken, self.options.concurrency - self._workers)):
            self._workers += 1
            self._group.start_soon(self._worker)

    def _wake(self, count: int) -> None:
        for _ in range(count):
            self._idle.pop().set()

    async def _worker(self) -> None:
        machine = self._machine
        while True:
            work = machine.take() if self._busy < self.options.concurrency else None
            if work is not None:
                self._busy += 1
                try:
                    await self._perform(work)
                finally:
                    self._leave_slot()
                if self._clock() - self._turn > _TURN:
                    await anyio.lowlevel.checkpoint()
                    self._turn = self._clock()
            elif machine.finished:
                self._wake(len(self._idle))
                return
            else:
                event = anyio.Event()
                self._idle.append(event)
                await event.wait()

    def _leave_slot(self) -> None:
        """Give the slot to a chunk that slept between attempts, or free it."""
        if self._resuming:
            self._resuming.popleft().set()
        else:
            self._busy -= 1

    async def _pause(self, chunk: LowChunk, attempt: int, row: Row, seconds: float) -> None:
        """Sleep between two attempts. With more than one slot, others may use this one meanwhile."""
        if self._observers:
            self._emit(
                ChunkRetried,
                tag=chunk.tag,
                attempt=attempt,
                result=row["result"],
                comment=str(row["comment"]),
                interval=seconds,
            )
        if self.options.concurrency == 1:
            await self._sleep(seconds)
            return
        self._workers -= 1
        self._leave_slot()
        self._hire()
        try:
            await self._sleep(seconds)
        finally:
            self._workers += 1
            if self._busy < self.options.concurrency:
                self._busy += 1
            else:
                event = anyio.Event()
                self._resuming.append(event)
                await event.wait()

    async def _perform(self, work: Work) -> None:
        if work.kind is NodeKind.GROUP:
            await self._invoker.aggregate(work.members)
            self._settle(work.node, Outcome(result=True, changed=False), "")
            return
        chunk = self.plan.chunk_of(work.node)
        tag = chunk.tag
        check = work.kind is NodeKind.CHECK
        if self._observers:
            self._emit(
                ChunkStarted, tag=tag, function=chunk.function, id=chunk.id, name=chunk.name, sls=chunk.sls, check=check
            )
        self._since[tag] = self._clock()
        try:
            row = await self._invoker.run_chunk(work)
        except anyio.get_cancelled_exc_class():
            if not check:
                self._rows[tag] = self._cancelled_row(chunk, self._since[tag])
            raise
        finally:
            del self._since[tag]
        if not check:
            self._keep(tag, chunk, row)
        elif not work.verdict.runs:
            self._hold_back(work, chunk, row)
        if self._observers:
            self._emit(ChunkFinished, tag=tag, row=row, why=work.verdict.value, check=check)
            self._fire(chunk, row)
        self._settle(work.node, Outcome.of(row), tag)

    def _hold_back(self, work: Work, chunk: LowChunk, row: Row) -> None:
        """Take note that requisites held a chunk back in its check already: that row is the chunk's, failhard too."""
        self._early[chunk.index] = self.plan.rank[work.node]
        self._rows[chunk.tag] = row
        if row["result"] is False and chunk.index in self._failhard:
            self._machine.fail_hard()

    def _settle(self, node: int, outcome: Outcome, tag: str) -> None:
        released = self._machine.done(node, outcome)
        if released and self._observers:
            self._announce(node, released, tag)
        if self._machine.finished:
            self._wake(len(self._idle))
        else:
            self._hire(own=1)

    def _announce(self, node: int, released: list[int], tag: str) -> None:
        """Say what has become ready, after what and why. A group has no row: its members follow what released it."""
        after, reasons = tag, self._reasons(node, released)
        if self.plan.nodes[node].kind is NodeKind.GROUP:
            after = self._groups.pop(node, "")
        for other in released:
            what = self.plan.nodes[other]
            if what.kind is NodeKind.GROUP:
                self._groups[other] = after
            else:
                check = what.kind is NodeKind.CHECK
                self._emit(
                    ChunkReady, tag=self.plan.chunks[what.chunk].tag, after=after, because=reasons[other], check=check
                )

    def _reasons(self, node: int, released: list[int]) -> dict[int, tuple[str, ...]]:
        """Return the sources of the edges that released nodes, from ``node`` itself or what was passed through."""
        dag, nodes = self.plan.dag, self.plan.nodes
        found: dict[int, tuple[str, ...]] = dict.fromkeys(released, ())
        passed = {node: None}
        for at in (queue := [node]):
            for successor in dag.successors(at):
                if successor in found:
                    known = found[successor]
                    found[successor] = known + tuple(why for why in dag.sources(at, successor) if why not in known)
                elif (
                    nodes[successor].kind in (NodeKind.SET, NodeKind.STAGE)
                    and successor not in passed
                    and self._machine.outcome(successor) is not None
                ):
                    passed[successor] = None
                    queue.append(successor)
        return found

    def _keep(self, tag: str, chunk: LowChunk, row: Row) -> None:
        if "sub_state_run" in row:
            self._subs[tag] = sub_rows(row, chunk.as_low(), (other.tag for other in self.plan.chunks))
            if chunk.args.get("no_log"):
                for sub in self._subs[tag]:
                    self._shown.hush(sub, chunk.id)
        self._rows[tag] = row

    def _broken_listeners(self) -> dict[str, Row]:
        """Return the rows of listeners that do not exist and would have been called."""
        found = [listener for listener in self.plan.broken_listeners if self._changed(listener.targets)]
        return {listener.tag: dict(listener.row) for listener in found}

    def _changed(self, chunks: tuple[int, ...]) -> bool:
        """Whether any of these chunks has a row that reports changes."""
        rows = (self._rows.get(self.plan.chunks[chunk].tag) for chunk in chunks)
        return any(row is not None and row["changes"] for row in rows)

    # clock and events

    async def _name_long_running(self) -> None:
        while True:
            await anyio.sleep(_LONG / 2)
            now = self._clock()
            for tag, since in list(self._since.items()):
                if now - since >= _LONG and self._observers:
                    seconds = round(now - since, 1)
                    self._emit(ChunkOutput, tag=tag, text=f"still running after {seconds:.0f} s", seconds=seconds)

    def _emit(self, kind: type[Event], **fields: Any) -> None:
        event = kind(
            run_id=self.options.run_id,
            seq=self._sequence,
            time=round(self._clock() - self._began, 6),
            **fields,
        )
        event = self._shown.event(event)
        self._sequence += 1
        for observer in self._observers:
            observer(event)

    def _fire(self, chunk: LowChunk, row: Row) -> None:
        """Emit what ``fire_event`` asks for, under the tag Salt would use."""
        asked = chunk.args.get("fire_event")
        if asked is True or (isinstance(asked, str) and asked):
            name = f"salt/state_result/{self.options.run_id}/{self._shown.state_event(chunk, asked)}"
            self._emit(StateEvent, name=name, row=self._shown.row(chunk.tag, row))

    # the end

    def _cancelled_row(self, chunk: LowChunk, since: float) -> Row:
        reason = self._cancelled or "out of time"
        row = failed_row(chunk.name, f"The state was cancelled while it ran ({reason}); its effect is unknown.")
        spent = self._clock() - since
        row["start_time"] = time.strftime("%H:%M:%S.000000", time.localtime(time.time() - spent))
        row["duration"] = round(spent * 1000, 3)
        row["__id__"], row["__sls__"] = chunk.id, chunk.sls
        return row

    def _report(self) -> RunReport:
        broken = {} if self._cancelled else self._broken_listeners()
        rows = number_rows(self.plan, {**self._rows, **broken}, self._subs, self._early)
        left_out = dict.fromkeys(self.plan.chunk_of(node).tag for node in self._machine.not_started())
        held_up = self._watch.issues if self._watch is not None else ()
        report = RunReport(
            rows=rows,
            not_started=tuple(tag for tag in left_out if tag not in rows),
            handled=_handled_failures(self.plan, self._rows),
            warnings=(*self.plan.warnings, *held_up),
            notices=tuple(self._invoker.aggregation.notices),
            test=self.options.test,
            concurrency=self.options.concurrency,
            shuffle=self.options.shuffle,
            digest=self.plan.digest,
            run_id=self.options.run_id,
            wall_ms=round((self._clock() - self._began) * 1000, 3),
            busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
            cancelled=self._cancelled,
        )
        if self._observers:
            self._emit(
                RunFinished,
                exit_code=report.exit_code,
                succeeded=sum(row["result"] is not False for row in rows.values()),
                changed=sum(bool(row["changes"]) for row in rows.values()),
                failed=len(report.failed),
                not_started=report.not_started,
                cancelled=report.cancelled,
                warnings=(*map(str, held_up), *report.notices),
            )
        return self._shown.report(report)


def _modules(plan: Plan, host: PluginHost) -> dict[str, LoadedModule | None]:
    """Return the state modules of a plan by name; None where none of the functions named is there."""
    modules: dict[str, LoadedModule | None] = {}
    for chunk in plan.chunks:
        if modules.get(chunk.state) is None:
            function = host.loaders["states"].find(chunk.function)
            modules[chunk.state] = function.module if function is not None else None
    return modules


def _exclusive_chunks(plan: Plan, modules: Mapping[str, LoadedModule | None]) -> set[int]:
    """Return the chunks that run alone: by ``exclusive: True``, by an argument ``umask``, or as all of their module do.

    A module says it with ``__exclusive__ = True``; ``exclusive: False`` on a state takes that back.
    """
    said = _said("__exclusive__", modules)
    return {
        chunk.index
        for chunk in plan.chunks
        if chunk.args.get("exclusive", said[chunk.state]) is True or "umask" in chunk.args
    }


def _lanes(plan: Plan, modules: Mapping[str, LoadedModule | None]) -> dict[int, list[str]]:
    """Return the lanes of chunks: those they name with ``lane``, and the one their module names with ``__lane__``."""
    said = _said("__lane__", modules)
    found = {}
    for chunk in plan.chunks:
        named = chunk.args.get("lane")
        lanes = {str(lane) for lane in (named if isinstance(named, list) else [named] if named else [])}
        if said[chunk.state]:
            lanes.add(str(said[chunk.state]))
        if lanes:
            found[chunk.index] = sorted(lanes)
    return found


def _said(name: str, modules: Mapping[str, LoadedModule | None]) -> dict[str, Any]:
    return {state: module.attribute(name) if module is not None else None for state, module in modules.items()}


def _failhard_chunks(plan: Plan, options: RunOptions) -> frozenset[int]:
    if options.test:
        return frozenset()
    return frozenset(chunk.index for chunk in plan.chunks if chunk.args.get("failhard", options.failhard))


def _handled_failures(plan: Plan, rows: dict[str, Row]) -> tuple[str, ...]:
    """Failures with at least one ``onfail_stop: false`` handler, all of which ran and succeeded."""
    verdicts: dict[str, list[bool]] = {}
    for chunk in plan.chunks:
        if chunk.args.get("onfail_stop") is not False:
            continue
        row = rows.get(chunk.tag)
        good = row is not None and row["result"] is True and row.get("__state_ran__", True)
        for requisite in plan.requisites[chunk.index]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                continue
            for node in plan.nodes[requisite.node].members or (requisite.node,):
                verdicts.setdefault(plan.chunks[plan.nodes[node].chunk].tag, []).append(bool(good))
    return tuple(tag for tag, goods in verdicts.items() if all(goods) and tag in rows and rows[tag]["result"] is False)
