"""Engine: one run of one plan, from its first event to its report.

    hide secrets ──▶ RunStarted ──▶ import modules, build the machine ──▶ workers ──▶ report ──▶ RunFinished
    ╰─ in a thread                  ╰─ in a thread                                    ╰─ in a thread

If the task is cancelled, the machine stalls or memory runs out, the run sends RunFinished and has its report before it
raises.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from asyncstate.errors import LoaderError
from asyncstate.guard.event_loop import Timer
from asyncstate.load.threads import to_its_end
from asyncstate.logs.fields import RunFields
from asyncstate.model.chunk import fresh
from asyncstate.model.event import RunFinished, RunStarted
from asyncstate.model.result import GAVE_UP, NEVER_ENDED, RunReport, out_of_time, was_held_back
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.machine import Machine
from asyncstate.run.options import RunOptions, Traits, priority_of
from asyncstate.run.recorder import Announcer, Recorder
from asyncstate.run.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from asyncstate.errors import Issue
    from asyncstate.journal.keeper import Keeper
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Ahead, Dispatch, Elsewhere

__all__ = ["Engine", "RunOptions"]


class Engine:
    """One run of one plan. ``observers`` are called with each event, in order, before anything else happens.

    ``dispatch`` runs the chunks. ``in_thread`` calls a function in a thread, for work that takes long in a large plan.
    If it raises LoaderError (no thread can start), or without ``in_thread``, the loop does that work. ``secrets`` are
    texts that neither rows nor events may show: the engine uses true names inside, and `RedactedPlan` hides secrets in
    all output. ``journal`` makes the keeper of the run, and notices for its report. It is called before anything
    starts, in a thread if one can start; an exception from it ends the run. ``elsewhere`` are the other hosts of a plan
    with REMOTE nodes. ``ahead`` makes what works for later chunks, or None; it is called before the first chunk starts,
    in a thread if one can start. Raises ValueError for a priority of another plan.
    """

    machine = Machine
    """The scheduler. Tests replace it with one that checks itself after every transition."""

    def __init__(
        self,
        plan: Plan,
        dispatch: Dispatch,
        options: RunOptions,
        observers: Sequence[Callable[[AnyEvent], None]] = (),
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.perf_counter,
        in_thread: Callable[..., Awaitable[Any]] | None = None,
        secrets: Secrets | None = None,
        journal: Callable[[RedactedPlan], tuple[Keeper | None, list[str]]] | None = None,
        elsewhere: Elsewhere | None = None,
        ahead: Callable[[Machine, Announcer, RunFields], Ahead | None] | None = None,
    ) -> None:
        if options.priority is not None and len(options.priority) != len(plan.nodes):
            raise ValueError(
                f"priority has a number for each node of the plan, so {len(plan.nodes)}, not {len(options.priority)}"
            )
        self.plan = plan
        self.options = options
        self._dispatch = dispatch
        self._elsewhere = elsewhere
        self._look_ahead = ahead
        self._ahead: Ahead | None = None
        self._in_thread = in_thread
        self._sleep = sleep
        self._clock = clock
        self._observers = observers
        self._secrets = Secrets() if secrets is None else secrets
        self._open_journal = journal
        self._journal: Keeper | None = None
        self._notices: list[str] = []
        self._pool: WorkerPool | None = None
        self._cancelled = ""
        self._is_abandoned = False
        self._is_over = False
        self._closing = threading.Lock()
        self.report: RunReport | None = None
        """The report of the run, also of a cancelled one. None before the end, or if cancelled before it began."""

    @property
    def rows(self) -> dict[str, Row]:
        """The rows of the states that have ended so far, by tag, without secrets."""
        return {} if self._pool is None else self._pool.rows

    @property
    def running(self) -> list[str]:
        """The tags of the states that run now, without secrets."""
        return [] if self._pool is None else self._pool.in_flight.tags

    def stop(self, reason: str) -> None:
        """Start nothing more; let running chunks finish. The report says ``reason``."""
        self._cancelled = self._cancelled or reason or "cancelled"
        if self._pool is not None:
            self._pool.stop(self._cancelled)

    def cancel(self, reason: str) -> None:
        """Start nothing more, and cancel running chunks. Each of them gets a failed row."""
        self.stop(reason)
        if self._pool is not None:
            self._pool.cut_off(self._cancelled)

    def abandon(self, reason: str) -> None:
        """End the run without its loop, which is closed: cancel its chunks, send the last event, make the report."""
        self._is_abandoned = True
        self._cancelled = self._cancelled or reason
        if self._pool is not None and self.report is None:
            self._pool.abandon(self._cancelled)
            self._end_at_once(self._pool)

    async def clean_up(self) -> None:
        """Remove what worked ahead of an abandoned run, and close its journal. May be called on any loop."""
        self._is_over = True
        try:
            if self._ahead is not None:
                await self._ahead.close()
        finally:
            self._close_journal()

    async def run(self) -> RunReport:
        """Run the plan to its end. Never raises for a failure of a state.

        Cancelling the task cancels the run; its last events are sent nevertheless. Raises MachineStalled, a bug, and
        MemoryError, after the last event, too.
        """
        try:
            return await self._run()
        finally:
            self._is_over = True
            if self._journal is not None and not self._is_abandoned:
                await to_its_end(self._off_loop(self._close_journal))

    async def _run(self) -> RunReport:
        began = self._clock()
        with Timer(self.options.timeout, self._out_of_time), ExitStack() as bound:
            shown = await self._off_loop(self._introduce)
            log_fields = bound.enter_context(RunFields(self.options.run_id, self.options.host, shown))
            announcer = Announcer(
                self.options.run_id, self._observers, shown, self._clock, began, journal=self._journal
            )
            recorder = Recorder(self.plan, announcer)
            machine: Machine = await self._off_loop(self._prepare)
            if self._look_ahead is not None:
                self._ahead = await self._off_loop(self._look_ahead, machine, announcer, log_fields)
            pool = self._pool = WorkerPool(
                machine,
                self._dispatch,
                self.options,
                recorder,
                announcer,
                log_fields=log_fields,
                sleep=self._sleep,
                clock=self._clock,
                ahead=self._ahead,
                elsewhere=self._elsewhere,
            )
            if self._cancelled:
                pool.stop(self._cancelled)
            try:
                with self._dispatch.begin(pool, recorder.rows, self._elsewhere.rows if self._elsewhere else {}):
                    try:
                        self._announce_start(announcer)
                        await pool.work()
                    finally:
                        if self._ahead is not None:
                            await to_its_end(self._ahead.close())
            except anyio.get_cancelled_exc_class():
                self._cancelled = self._cancelled or GAVE_UP
                await to_its_end(self._end(pool))
                raise
            except Exception as error:
                from asyncstate.run.story import fault  # noqa: PLC0415 - a fault

                self._cancelled = self._cancelled or fault(error)
                await self._end(pool)
                raise
        if machine.stopped == NEVER_ENDED:
            self._cancelled = self._cancelled or NEVER_ENDED
        return await self._end(pool)

    def _introduce(self) -> RedactedPlan:
        """Open the journal, and prepare how the plan is shown without secrets."""
        shown = RedactedPlan(self.plan, self._secrets)
        shown.prepare()
        if self._open_journal is not None:
            self._journal, self._notices = self._open_journal(shown)
            if self._is_over:  # cancelled meanwhile, so nothing waits for this thread
                self._close_journal()
        return shown

    def _close_journal(self) -> None:
        with self._closing:  # the thread that opens it may close it at the same time
            if self._journal is not None:
                self._journal.close()

    def _announce_start(self, announcer: Announcer) -> None:
        if announcer.heard:
            announcer.emit(
                RunStarted,
                wall=time.time(),
                digest=self.plan.digest,
                chunks=len(self.plan.chunks),
                concurrency=self.options.concurrency,
                test=self.options.test,
                shuffle=self.options.shuffle,
                warnings=tuple(str(issue) for issue in self.plan.warnings),
                phases=self.plan.phases,
            )

    def _out_of_time(self) -> None:
        self.cancel(out_of_time(self.options.timeout or 0.0))

    def _prepare(self) -> Machine:
        """Import the modules of the plan for their declarations, and build the machine."""
        options = self.options
        traits = Traits.of(self.plan, options, self._dispatch.module_traits())
        return self.machine(
            self.plan,
            failhard=traits.failhard,
            exclusive=traits.exclusive,
            lanes=traits.lanes,
            limits=options.lanes,
            priority=priority_of(self.plan, options),
        )

    async def _off_loop(self, work: Callable[..., Any], *args: Any) -> Any:
        """Do slow work of a large tree in a thread, if one can start."""
        if self._in_thread is None:
            return work(*args)
        try:
            return await self._in_thread(work, *args)
        except LoaderError:
            return work(*args)

    @property
    def _journal_notices(self) -> list[str]:
        return [] if self._journal is None else self._journal.notices

    async def _end(self, pool: WorkerPool) -> RunReport:
        """Send the last events and make the report; all at once, if the task is cancelled meanwhile."""
        try:
            while pool.announcer.behind:
                pool.announcer.catch_up()
                await anyio.lowlevel.checkpoint()
            report, end = await self._off_loop(self._numbered, pool)
        except anyio.get_cancelled_exc_class():
            if not self._is_abandoned:
                self._end_at_once(pool)
            raise
        return self._announce_end(report, end, pool)

    def _end_at_once(self, pool: WorkerPool) -> None:
        while pool.announcer.behind:
            pool.announcer.catch_up()
        self._announce_end(*self._numbered(pool), pool)

    def _announce_end(self, report: RunReport, end: dict[str, Any], pool: WorkerPool) -> RunReport:
        self.report = report
        if end:
            pool.announcer.emit(RunFinished, **end)
        return report

    def _numbered(self, pool: WorkerPool) -> tuple[RunReport, dict[str, Any]]:
        """Return the report without secrets, and the fields of the last event; none if nothing receives it."""
        found, announcer = self._dispatch.findings(), pool.announcer
        report = pool.recorder.report(
            pool.in_flight.check_ranks,
            pool.machine.not_started(),
            cut_short=bool(self._cancelled),
            warnings=(*self.plan.warnings, *found.warnings),
            notices=(*found.notices, *pool.notices, *announcer.notices, *self._notices, *self._journal_notices),
            races=tuple(found.races),
            test=self.options.test,
            concurrency=self.options.concurrency,
            shuffle=self.options.shuffle,
            run_id=self.options.run_id,
            wall_ms=round((self._clock() - announcer.began) * 1000, 3),
            cancelled=self._cancelled,
        )
        end = self._counted(report, pool.recorder, found.warnings) if announcer.heard else {}
        return announcer.shown.report(report), end

    def _counted(self, report: RunReport, recorder: Recorder, found: Sequence[Issue]) -> dict[str, Any]:
        """Return the fields of `RunFinished`."""
        rows = report.rows.values()
        failed = report.failed
        foretold = Counter[str]()
        changed = sum(bool(row["changes"]) for row in rows if row["result"] is not False)
        if report.test:
            from asyncstate.model.forecast import Foretold, forecast  # noqa: PLC0415 - a real run foretells nothing

            foretold.update(map(str, forecast(report, self.plan).values()))
            changed = sum(number for why, number in foretold.items() if why != Foretold.UNKNOWN)
        others, order = recorder.untold(report)
        return {
            "exit_code": report.exit_code,
            "succeeded": sum(row["result"] is not False for row in rows),
            "changed": changed,
            "failed": len(failed),
            "held_back": sum(was_held_back(report.rows[tag]) for tag in failed),
            "not_started": report.not_started,
            "cancelled": report.cancelled,
            "warnings": (*map(str, found), *report.notices),
            "races": report.races,
            "wall_ms": report.wall_ms,
            "handled": report.handled,
            "rows": fresh(others),
            "order": order,
            "foretold": foretold,
        }
