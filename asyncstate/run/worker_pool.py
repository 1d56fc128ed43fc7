"""The workers of one run: tasks that each take a piece of work, run it and take the next.

    machine.take ──▶ ChunkStarted ──▶ dispatch.run_chunk ──▶ record the row (ChunkFinished) ──▶ machine.done
         ▲                                                                                          │
         └──────────────────────── next piece of work; other workers are woken ─────────────────────┘

They are tasks of asyncio, not of a task group of anyio. A group waits for all its tasks, but a plugin may keep its task
from ever ending; the pool leaves such a task behind. And a plugin that cancels its own task does not end the others.

Concurrency is the number of running chunks, not of threads, so calls that need further threads cannot starve each
other. A chunk keeps its lanes and its node until everything it started has returned. A call that does not end although
its time is over gives back its slot; once only such calls, and chunks that wait for them, are left, the run is over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

import anyio

from asyncstate.guard.event_loop import Timer, close_task, unwind
from asyncstate.load.threads import to_its_end
from asyncstate.model.event import ChunkRetried
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import GAVE_UP, NEVER_ENDED, Outcome
from asyncstate.process.descriptors import places
from asyncstate.run.dispatch import GRACE
from asyncstate.run.in_flight import LONG, InFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from asyncstate.logs.fields import RunFields
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Ahead, Dispatch, Elsewhere, SharedWork
    from asyncstate.run.machine import Machine, Work
    from asyncstate.run.options import RunOptions
    from asyncstate.run.recorder import Announcer, Recorder
    from asyncstate.run.story import MachineStalled

_CHUNK = NodeKind.CHUNK
_GROUP = NodeKind.GROUP
_TURN = 0.005
"""Seconds for which the workers together keep the loop before other tasks, events and signals get their turn."""
_FORMED = Outcome(result=True, changed=False)
_NEVER = Outcome(result=False, changed=False, ran=False)


class WorkerPool:
    """Runs the work that a machine hands out. ``in_flight`` is the running work."""

    def __init__(
        self,
        machine: Machine,
        dispatch: Dispatch,
        options: RunOptions,
        recorder: Recorder,
        announcer: Announcer,
        *,
        log_fields: RunFields,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
        ahead: Ahead | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._ahead = ahead
        self._elsewhere = elsewhere
        self.plan: Plan = machine.plan
        self.in_flight: InFlight = InFlight(machine, recorder, announcer, clock=clock)
        self.machine: Machine = machine
        self._dispatch = dispatch
        self._asked_for = options.concurrency
        self._concurrency, self._why_few = places(options.concurrency)
        self.recorder: Recorder = recorder
        self.announcer: Announcer = announcer
        self._log_fields = log_fields
        self._sleep = sleep
        self._clock = clock
        self._tasks: dict[asyncio.Task[None], Context] = {}
        self._busy = 0
        self._workers = 0
        self._idle: list[anyio.Event] = []
        self._resuming: deque[anyio.Event] = deque()
        self._abandoned: list[str] = []
        self._left: list[tuple[LowChunk, asyncio.Future[None]]] = []
        self._turn = 0.0
        self._turning = False
        self._stopped = False
        self._pauses: set[anyio.CancelScope] = set()
        self._deserted = False
        self._told = 0
        self._over = anyio.Event()
        self._reason = ""
        self._failure: BaseException | None = None

    @property
    def cut(self) -> bool:
        """Whether running chunks have been cancelled."""
        return bool(self._reason)

    @property
    def rows(self) -> dict[str, Row]:
        """The rows of the chunks that have ended so far, by tag, without secrets."""
        shown = self.announcer.shown
        return {shown.tag(tag): shown.row(tag, row) for tag, row in self.recorder.rows.items()}

    @property
    def notices(self) -> list[str]:
        """Messages for the report that belong to no row."""
        few = []
        if self._concurrency < self._asked_for:
            states = "1 state" if self._concurrency == 1 else f"{self._concurrency} states"
            few = [f"{states} ran at once, not {self._asked_for}: {self._why_few}"]
        return [*few, *self._abandoned]

    def stop(self, reason: str) -> None:
        """Start nothing more. Running chunks may finish, but are not retried."""
        self.machine.stop(reason)
        self._stopped = True
        if self._ahead is not None:
            self._ahead.stop()
        for scope in self._pauses:
            scope.cancel()
        self._wake(len(self._idle))
        self._look_for_end()

    def cut_off(self, reason: str) -> None:
        """Cancel running chunks."""
        if self._reason:
            return
        self._reason = reason or "cancelled"
        for task in list(self._tasks):
            task.cancel(self._reason)
        self._over.set()

    async def work(self) -> None:
        """Return when everything has ended, or was cancelled and had `GRACE` to end. Raises MachineStalled."""
        if not self.machine.finished:
            await self._work_off()
        if self.machine.stalled:
            raise self._stalled()

    async def _work_off(self) -> None:
        self._start_workers()
        if self._ahead is not None:
            self._ahead.begin()
        listening = asyncio.create_task(self._listen()) if self.machine.awaited else None
        try:
            with Timer(LONG / 2 if self.announcer.heard else None, self.in_flight.name_long_running, repeat=True):
                await self._over.wait()
        except anyio.get_cancelled_exc_class():
            self.machine.stop("cancelled")
            self.cut_off(GAVE_UP)
            await to_its_end(self._wind_up())
            raise
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])
        if self.cut:
            await self._wind_up()
        if self._failure is not None:
            raise self._failure

    # other hosts

    async def _listen(self) -> None:
        """Report the ends of states of other hosts to the machine. This takes no slot."""
        try:
            if self._elsewhere is not None:
                async with aclosing(self._elsewhere.outcomes()) as outcomes:
                    async for node, outcome in outcomes:
                        self._arrived(node, outcome)
                        await self._catch_up()  # all workers may be busy
                        if not self.machine.awaited:
                            return
            self._fail(ValueError("the run has no access to the states of other hosts that its plan waits for"))
        except Exception as error:  # noqa: BLE001 - it must not end unheard: the run would wait for ever
            self._fail(error)

    def _arrived(self, node: int, outcome: Outcome) -> None:
        released = self.machine.arrive(node, outcome)
        if released and self.announcer.shows:
            self.announcer.ready(self.machine, node, released, self.plan.nodes[node].label)
        if not self.machine.finished:
            self._start_workers()
            return
        self._wake(len(self._idle))
        self._look_for_end()

    # workers

    def _start_workers(self, own: int = 0) -> None:
        """Wake or start workers for ready work, without the ``own`` pieces that the caller takes itself."""
        wanted = min(self.machine.ready - own, self._concurrency - self._busy)
        if wanted <= 0:
            return
        woken = min(wanted, len(self._idle))
        self._wake(woken)
        for _ in range(min(wanted - woken, self._concurrency - self._workers)):
            self._workers += 1
            context = copy_context()
            task = asyncio.get_running_loop().create_task(self._worker(), context=context)
            self._tasks[task] = context
            task.add_done_callback(self._worker_ended)

    def _worker_ended(self, task: asyncio.Task[None]) -> None:
        """Record that a worker ended. The last one ends the run, and so does one that ended with an internal error."""
        self._tasks.pop(task, None)
        self._workers -= 1
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.cut:
            self._fail(error)
        if not self._tasks:
            if self.machine.finished or self.cut:
                self._over.set()
            else:  # a plugin cancelled the worker, which is not allowed
                self._start_workers()
                if not self._tasks and not self.machine.awaited:
                    self._fail(self._stalled())
        elif self.in_flight.overdue:
            self._look_for_end()

    def _look_for_end(self, own: int = 0) -> bool:
        """End the run if nothing runs, or only calls that do not end. ``own`` is 1 if the caller is an idle worker.

        Before, the nodes that wait for such calls are given up: other hosts are notified, and nodes that failed
        requisites keep from running get their rows. Return whether that gives the caller work.
        """
        overdue, machine = self.in_flight.overdue, self.machine
        if not self._tasks:
            self._over.set()
        if not overdue or self.cut or len(self._idle) + own + len(overdue) != len(self._tasks):
            return False
        outcomes = self.in_flight.give_up()
        machine.give_up(outcomes)
        if self._elsewhere is not None:
            for node in (*outcomes, *machine.withheld[self._told :]):
                self._elsewhere.ended(node, machine.outcomes.told(node) or _NEVER)
        self._told = len(machine.withheld)
        if machine.finished:
            self._deserted = True
            machine.stop(NEVER_ENDED)
            self.cut_off(NEVER_ENDED)
            return False
        self._start_workers(own)
        return machine.ready > 0

    def _fail(self, error: BaseException) -> None:
        from asyncstate.run.story import fault  # noqa: PLC0415 - a fault

        self._failure = error
        self.cut_off(fault(error))
        self.machine.stop(fault(error))

    def _stalled(self) -> MachineStalled:
        from asyncstate.run.story import MachineStalled  # noqa: PLC0415 - a fault

        return MachineStalled(self.machine, self.announcer.shown.text)

    def _wake(self, count: int) -> None:
        for _ in range(count):
            self._idle.pop().set()

    async def _worker(self) -> None:
        machine = self.machine
        while True:
            if self.announcer.behind:
                await self._catch_up()
            work = machine.take() if self._busy < self._concurrency else None
            if work is not None:
                self._busy += 1
                try:
                    await self._perform(work)
                finally:
                    self._free_slot()
                if self._clock() - self._turn > _TURN:
                    await self._end_turn()
            elif machine.finished:
                self._wake(len(self._idle))
                return
            else:
                await self._wait_for_work()

    async def _catch_up(self) -> None:
        """Send the events that are behind: in each turn, one worker sends some and the others wait."""
        while self.announcer.behind:
            if not self._turning:
                self.announcer.catch_up()
            await self._end_turn()

    async def _end_turn(self) -> None:
        """Let other tasks run. The first worker to do so begins the next turn for all workers."""
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._begin_turn)
        await asyncio.sleep(0)

    def _begin_turn(self) -> None:
        self._turn = self._clock()
        self._turning = False

    async def _wait_for_work(self) -> None:
        """Wait for work. Raises MachineStalled if all other workers wait, too: no work can then appear."""
        if self._look_for_end(own=1):
            return
        if len(self._idle) + 1 == len(self._tasks) and not self.machine.awaited:
            raise self._stalled()
        event = anyio.Event()
        self._idle.append(event)
        try:
            await event.wait()
        finally:
            if event in self._idle:
                self._idle.remove(event)

    def _free_slot(self) -> None:
        """Give the slot to a chunk whose pause is over, or free it."""
        if self._resuming:
            self._resuming.popleft().set()
        else:
            self._busy -= 1

    async def pause(self, chunk: LowChunk, attempt: int, row: Row, seconds: float) -> bool:
        """Sleep between two attempts; return whether to try again. With more than one slot, others may use this one."""
        if self._stopped:
            return False
        if self.announcer.heard:
            self.announcer.emit(
                ChunkRetried,
                tag=chunk.tag,
                attempt=attempt,
                result=row["result"],
                comment=str(row["comment"]),
                interval=float(seconds),
            )
        if self._concurrency == 1:
            await self._sleep_unless_stopped(seconds)
            return not self._stopped
        self._lend_slot()
        try:
            await self._sleep_unless_stopped(seconds)
        finally:
            await self._take_back_slot()
        return not self._stopped

    def _lend_slot(self) -> None:
        self._workers -= 1
        self._free_slot()
        self._start_workers()

    async def _take_back_slot(self) -> None:
        self._workers += 1
        if self._busy < self._concurrency:
            self._busy += 1
        else:
            event = anyio.Event()
            self._resuming.append(event)
            await event.wait()

    async def _sleep_unless_stopped(self, seconds: float) -> None:
        with anyio.CancelScope() as scope:
            self._pauses.add(scope)
            try:
                await self._sleep(seconds)
            finally:
                self._pauses.discard(scope)

    def share(self, shared: SharedWork) -> None:
        """Keep the effects of a call on other states, before its row is recorded."""
        self.announcer.keep(shared)

    def left_running(self, chunk: LowChunk, calls: Sequence[asyncio.Future[None]]) -> None:
        """At the end of the run, wait for calls that were cancelled, and name those that do not end."""
        self._left += [(chunk, call) for call in calls]

    # one piece of work

    async def _perform(self, work: Work) -> None:
        if work.kind is _GROUP:
            await self._dispatch.aggregate(work.members)
            self._settle(work.node, _FORMED, "")
            return
        chunk = self.plan.chunks[work.chunk] if work.kind is _CHUNK else self.plan.chunk_of(work.node)
        tag = chunk.tag
        self._log_fields.begin(chunk, tag)
        if self._ahead is not None and work.kind is _CHUNK:
            self._ahead.started(work.chunk)
        self.in_flight.begin(work, chunk)
        try:
            row = await self._dispatch.run_chunk(work, chunk)
        except (asyncio.CancelledError, GeneratorExit):
            row = self.in_flight.cancelled(work, self._reason)
            if self.cut:
                self.in_flight.record(work, chunk, row, cut_off=True)
                raise
        except BaseException as error:  # noqa: BLE001 - each chunk ends in a row
            row = self.in_flight.raised(work, error)
        finally:
            if self.in_flight.end(work):  # it was cut off before it had its slot again
                self._workers, self._busy = self._workers + 1, self._busy + 1
        if work.elsewhere and self._elsewhere is not None and (words := self._elsewhere.words(work.elsewhere)):
            row["comment"] = f"{row['comment']}. {words}"
        self._settle(work.node, self.in_flight.record(work, chunk, row), tag)

    def overrun(self, work: Work, chunk: LowChunk, row: Row, *, final: bool) -> None:
        """Go on without a call that still runs after its time limit, as long as anything else can start."""
        self.in_flight.overrun(work, chunk, row, final=final)
        if work.kind is NodeKind.CHECK:  # its chunk may be settled by this row before it returns
            self._dispatch.recall(work, chunk, self.in_flight.overdue[work.node], None)
        self._lend_slot()
        self._look_for_end()

    async def returned(self, work: Work) -> None:
        """Record that such a call has returned, and wait for a slot."""
        self.in_flight.overdue.pop(work.node, None)
        await self._take_back_slot()

    def _settle(self, node: int, outcome: Outcome, tag: str) -> None:
        machine = self.machine
        released = machine.done(node, outcome)
        if released and self.announcer.shows:
            self.announcer.ready(machine, node, released, tag)
        if machine.finished:
            self._wake(len(self._idle))
        else:
            self._start_workers(own=1)
        if self._ahead is not None:
            self._ahead.ended(node)
        if self._elsewhere is not None:
            self._elsewhere.ended(node, machine.outcomes.told(node) or outcome)

    # the end

    def abandon(self, reason: str) -> None:
        """Cancel running chunks without their closed loop. Their processes and threads end in the background."""
        self._reason = reason
        self.machine.stop(reason)
        for task, context in list(self._tasks.items()):
            context.run(unwind, task, reason)
        self._abandoned += self.in_flight.leave_behind(self._reason)
        if self._ahead is not None:
            self._ahead.abandon(reason)

    async def _wind_up(self) -> None:
        """Wait up to `GRACE` for cancelled chunks. One that does not end is left behind, with a row and a notice."""
        limit = asyncio.get_running_loop().time() + GRACE
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=GRACE)
        self._abandoned += self.in_flight.leave_behind(self._reason)
        for task in list(self._tasks):
            close_task(task)
        calls = {call for _, call in self._left if not call.done()}
        if calls and not self._deserted:  # those had their time
            await asyncio.wait(calls, timeout=max(0.0, limit - asyncio.get_running_loop().time()))
        late = dict.fromkeys(chunk.place for chunk, call in self._left if not call.done())
        self._abandoned += [f"{place} still runs in a thread, which cannot be stopped" for place in late]
