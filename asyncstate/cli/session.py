"""Runs a plan from the command line: the lock, the progress display, and the report at the end.

A plugin that cancels the tasks of the asyncio loop ends the run: `asyncio.CancelledError` shows that.
"""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import sys
import time
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.cli.event_loop import kept_until_shown, run_on
from asyncstate.cli.interrupts import check, delivered_to, is_signalled, note, pause
from asyncstate.cli.run_progress import followed, progress_of
from asyncstate.errors import AsyncStateError, Issue
from asyncstate.model.plan import places_of
from asyncstate.model.result import HostResult
from asyncstate.run.recorder import Onlooker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from asyncstate.cli.console import Console
    from asyncstate.cli.display import ReportDisplay
    from asyncstate.cli.event_loop import Ending
    from asyncstate.cli.only_failed import Unfinished
    from asyncstate.cli.saved_plan import SavedPlan
    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport
    from asyncstate.plans.record import PlanRecord
    from asyncstate.report.jsonl import JsonLines
    from asyncstate.report.progress import LiveProgress, PlainProgress
    from asyncstate.runtime import StateRuntime
    from asyncstate.services import Embedding

_SECRETIVE = "--pillar"
"""The option whose values may be secret without being marked as such."""
_HARMLESS = frozenset({"test", "saltenv", "pillarenv", "exclude", "mods", "queue", "concurrent"})
"""The arguments of the form ``name=value`` that are shown with their values."""
_HIDDEN = "..."


class Session:
    """One run: the observers of its events, and the output of its report. ``options`` come from the command line.

    ``problem`` is the reason why the run did not complete, for a CI server, which must not take it for a success.
    """

    def __init__(self, console: Console, settings: Settings, options: dict[str, Any]) -> None:
        self.console = console
        self.settings = settings
        self.options = options
        self.profile: Any = self._make_profile()
        progress = progress_of(console, settings, options, self._plan_for_people)
        self.progress: LiveProgress | PlainProgress | None = progress.display
        self._lines = self._make_lines()
        self._about: dict[str, Any] = {}
        self._host = ""
        self.problem: str = ""
        self._shown_plan: Callable[[], Plan | None] = lambda: None
        self._saved: SavedPlan | None = None
        self._tracing: Any = None
        self._embedded: Callable[[], AbstractAsyncContextManager[Embedding | None]] = nullcontext
        sinks = (progress.remaining, self.profile, self.progress, self._lines)
        self._observers: list[Callable[[AnyEvent], None]] = [
            sink if isinstance(sink, Onlooker) else sink.on_event for sink in sinks if sink is not None
        ]

    def _make_profile(self) -> Any:
        """Return what collects the times of the run for an option; None without such an option.

        Raises ConfigError if no extra does.
        """
        wanted = next((name for name in ("profile", "report", "explain") if self.options.get(name)), "")
        if not wanted:
            return None
        from asyncstate import extend
        from asyncstate.process.lineage import started_at

        return extend.provided("analysis", f"--{wanted}").profile(started_at(os.getpid()))

    def _plan_for_people(self) -> Plan | None:
        return self._shown_plan()

    def _make_lines(self) -> JsonLines | None:
        if self.console.out != "jsonl":
            return None
        from asyncstate.report.jsonl import JsonLines

        stream = self.console.stdout
        if stream is None:
            self.console.unwritten("standard output", "it is closed")
            return None
        return JsonLines(stream.buffer)

    def apply(
        self, selection: Selection, *, reviewed: PlanRecord | None = None, unfinished: Unfinished | None = None
    ) -> int:
        """Compile and run the selection, show the report, return the exit code.

        With ``unfinished``, only those states of a past run are run. Raises CompileError; PlanError if the plan differs
        from the ``reviewed`` one.
        """
        self._about = {
            "command": "apply",
            **selection.given(),
            **({"file": self.options["file"]} if self.options.get("file") else {}),
            **({"pillar": sorted(map(str, self.options["pillar"]))} if self.options.get("pillar") else {}),
            **({"only_failed": unfinished.run} if unfinished is not None else {}),
        }
        if reviewed is not None or self.options.get("plan_out"):
            from asyncstate.cli.saved_plan import SavedPlan

            self._saved = SavedPlan(self.console, self.options, selection, reviewed)

        async def compile_tree(runtime: StateRuntime) -> Plan:
            if unfinished is not None:
                from asyncstate.cli.only_failed import compile_unfinished

                return await compile_unfinished(runtime, unfinished, self.console.say)
            file = self.options.get("file")
            if file:
                return await runtime.host.workers.run(
                    lambda: runtime.compile_file_sync(file, saltenv=selection.saltenv)
                )
            return await runtime.compile(**selection._asdict())

        return self._run_alone(compile_tree)

    def single(self, function: str, arguments: Mapping[str, Any]) -> int:
        """Run one state function, show the report, return the exit code. Raises CompileError."""
        self._about = {"command": "single", "function": function}

        async def make_plan(runtime: StateRuntime) -> Plan:
            return await runtime.host.workers.run(runtime.single_plan, function, arguments)

        return self._run_alone(make_plan)

    def run_planned(
        self,
        planned: Callable[[StateRuntime], Awaitable[Plan]],
        about: Mapping[str, Any],
        embedded: Callable[[], AbstractAsyncContextManager[Embedding]] | None = None,
    ) -> int:
        """Run the plan that ``planned`` returns, show the report, return the exit code. Raises CompileError.

        ``about`` describes the command in the journal. A run within ``embedded`` holds no lock: it concerns other hosts
        with locks of their own, and this machine may be one of them.
        """
        self._about = dict(about)
        if embedded is None:
            return self._run_alone(planned)
        self._embedded = embedded
        return run_on("asyncio", lambda: self._run(planned))

    def _run_alone(self, planned: Callable[[StateRuntime], Awaitable[Plan]]) -> int:
        """Run while holding the lock, so that no other run changes this machine meanwhile, unless the options allow it.

        Raises LockHeld; AsyncStateError if the limit of open files is too low.
        """
        from asyncstate.process.descriptors import too_few

        if self.settings.test:
            self.settings.new_file_diff |= self.console.shows_new_files(self.options.get("diffs"))
        if why := too_few():
            raise AsyncStateError(why)
        if self.settings.test or self.options.get("mock") or self.options.get("unlocked"):
            return run_on(self.settings.event_loop, lambda: self._run(planned))
        from asyncstate.guard.lock import RunLock

        wait = self.options.get("wait") or 0.0
        outlast = self.options.get("resume") is not None and not self.options.get("force")
        lock = RunLock(self.settings.cachedir, wait=wait, outlast=outlast, pause=pause)
        holder = lock.holder() if wait else None
        if holder is not None:
            from asyncstate.report.terminal import short_time

            long = short_time(wait) if 60 <= wait < math.inf else f"{wait:g} s"
            limit = "" if math.isinf(wait) else f" up to {long}"
            self.console.say(f"waiting{limit} for process {holder.pid}, running since {holder.since}")
        with lock:
            return run_on(self.settings.event_loop, lambda: self._run(planned, lock.hand_over))

    async def _run(
        self,
        planned: Callable[[StateRuntime], Awaitable[Plan]],
        hand_over: Callable[[], Callable[[], None]] | None = None,
    ) -> int:
        from asyncstate.sources import all_phases

        if "traces" in self.options and (traces := self.console.traces(self.settings)) is not None:
            self._tracing = traces.of_run(self.console, self.settings, self._about["command"])
        began = time.time()
        try:
            with all_phases() as phases:
                return await self._run_and_show(planned, hand_over)
        except Exception as error:
            if self._tracing is not None:
                self._tracing.failed(error, phases, began, self._host)
            if self._lines is not None:
                if hand_over is not None:
                    hand_over()()  # the lock, as below
                with delivered_to(self._interrupt_output):
                    self._lines.close()
            raise

    async def _run_and_show(
        self,
        planned: Callable[[StateRuntime], Awaitable[Plan]],
        hand_over: Callable[[], Callable[[], None]] | None,
    ) -> int:
        with ExitStack() as until_shown:
            plan, report, ending = await self._run_to_its_end(planned, until_shown)
            if hand_over is not None:
                hand_over()()  # another run need not wait until this report is read
            try:
                with delivered_to(self._interrupt_output):
                    self.show(report, plan)
            except Exception as error:
                from asyncstate.report.summary import applied_lines

                error.add_note("\n".join(applied_lines(report.rows, dry=report.test)))
                raise
        check()
        if ending.exit_code and not report.cancelled:  # it came after the last state had begun: nothing to stop
            return ending.exit_code
        return self._exit_code(report)

    async def _run_to_its_end(
        self, planned: Callable[[StateRuntime], Awaitable[Plan]], until_shown: ExitStack
    ) -> tuple[Plan, RunReport, Ending]:
        """Compile and run; return plan, report and signals. A signal after the end of the run keeps the report."""
        from asyncstate.runtime import StateRuntime

        async with (
            self._embedded() as embedding,
            StateRuntime(self.settings, secrets=self.console.secrets, embedding=embedding) as runtime,
        ):
            self._host = str(runtime.host.opts.get("id") or "")
            plan = await planned(runtime)
            self._shown_plan = partial(runtime.shown, plan)
            self._about["line"] = self._line()
            if self._saved is not None:
                plan = await runtime.host.workers.run(self._saved.compiled, runtime, plan)
            self._warn_of_plan(plan)
            self._announce_unknown(plan)
            if self._tracing is not None:
                trace = await self._tracing.begin(runtime, plan, self._host)
                self._observers += [] if trace is None else [trace.on_event]
            run = runtime.run(
                plan,
                shuffle=self.options.get("shuffle"),
                mock=bool(self.options.get("mock")),
                trace_effects=bool(self.options.get("trace_effects")),
                observers=self._observers,
                about=self._about,
                resume=self.options.get("resume"),
                force=bool(self.options.get("force")),
                events=False,
                lock=False,  # already held, or not needed
            )
            self.console.answered = self._lines is not None
            if self.console.last is not None:
                self.console.last.run = run.id
            until_shown.enter_context(kept_until_shown())
            try:
                with followed(run, self.progress, self.console, self.settings) as ending:
                    async with run:
                        pass  # leaving the block waits for the end of the run
            except asyncio.CancelledError:
                if not run.is_reported:  # the run has not begun
                    raise
                if not is_signalled():
                    self._warn([Issue("a plugin cancelled the tasks of the program, which ended the run")])
            except Exception as error:
                if run.rows or run.running or not isinstance(error, AsyncStateError):  # else it explains itself
                    from asyncstate.report.summary import applied_lines

                    error.add_note("\n".join(applied_lines(run.rows, run.running, dry=self.settings.test)))
                raise
            if self._saved is not None:
                await runtime.host.workers.run(self._saved.note_used)
        report = run.report
        return runtime.shown(plan) if report.failed or self.options.get("report") else plan, report, ending

    def _interrupt_output(self, number: int) -> None:
        """Drop the rest of a report, whose reader may be stuck: the run is over, and the journal has it."""
        self.console.drop()
        if self._lines is not None:
            self._lines.give_up()
        note(number)

    def _exit_code(self, report: RunReport) -> int:
        return self.console.exit_code(report.exit_code, detailed=bool(self.options.get("detailed_exitcode")))

    def _warn_of_plan(self, plan: Plan) -> None:
        if plan.chunks or not self.console.for_people:
            self._warn(plan.warnings)

    def replay(self, events: Iterable[AnyEvent], plan: Plan | None, entry: RunEntry) -> int:
        """Show a run again from its events, as if it had just ended; return its exit code.

        ``plan`` is for display; ``entry`` is the entry of the run in the journal.
        """
        from asyncstate.journal.entry import KILLED
        from asyncstate.report.recorded import RecordedReport

        self._about, self._host, cut_short = entry.about, entry.host, entry.ending
        self.console.ended_at = entry.ended
        if cut_short == KILLED:
            self.problem = "The run was killed."
        recorded = RecordedReport()
        self._shown_plan = lambda: plan
        self.console.answered = self._lines is not None
        for event in events:
            for observer in (recorded.on_event, *self._observers):
                observer(event)
        report = recorded.report(cut_short, () if plan is None else [chunk.tag for chunk in plan.chunks])
        if plan is not None:
            plan = recorded.completed(plan)
            self._warn_of_plan(plan)
        self.show(report, plan)
        return self._exit_code(report)

    def show(self, report: RunReport, plan: Plan | None = None) -> None:
        """Write the report in the requested format, the explanation, the profile, and the report files."""
        console = self.console
        result = HostResult(report=report)
        console.results = [result]
        only_times = bool(self.options.get("bench")) and result.ok
        silent = only_times or (bool(self.options.get("quiet_ok")) and result.uneventful)
        if not silent:
            console.release()
        if not (report.rows or report.not_started or report.cancelled):
            self._warn([Issue("no states: the tree is empty", hint="name an SLS, or see: asyncstate show top")])
        if silent and console.for_people:
            pass
        elif console.for_people and plan is not None and plan.rows and not plan.chunks and plan.warnings:
            from asyncstate.report.issues import warning_lines

            console.lines(["Nothing to apply.", *warning_lines(plan.warnings, console.palette())])
        elif console.out == "github":
            placed = self._placed(report, plan, report.failed)
            display = self._display()
            display.on_github(display.text(placed, plan), "warning", report.warnings, [placed])
        elif console.for_people:
            console.lines(self._display().text(self._placed(report, plan, report.failed), plan), redacted=True)
        elif console.out != "jsonl":
            console.data(report.rows, redacted=True, reduced=True)
        if self._lines is not None:
            self._lines.close()
        before = len(plan.warnings) if plan is not None else 0
        self._warn([*report.warnings[before:], *map(Issue, report.notices)])
        if self._lines is not None and self._lines.error:
            console.unwritten("the events", self._lines.error)
        if only_times:
            self._show_times(report, plan, ())
        elif not silent:
            self._show_times(report, plan)
        self._write_files(report, plan)
        if self._tracing is not None:
            self._tracing.end()
        if self._saved is not None:
            self._saved.ended(report)

    def _display(self) -> ReportDisplay:
        from asyncstate.cli.display import ReportDisplay

        everything, diffs = bool(self.options.get("mock")), self.options.get("diffs")
        return ReportDisplay(self.console, self.settings, everything=everything, diffs=diffs)

    def _placed(self, report: RunReport, plan: Plan | None, tags: Iterable[str], problem: str = "") -> HostResult:
        """Return the result with the reasons why states were held back, and the places of these states."""
        from asyncstate.report.blockers import held_back

        return HostResult(report=report, places=places_of(plan, tags), held=held_back(report, plan), problem=problem)

    def _show_times(self, report: RunReport, plan: Plan | None, between: tuple[str, ...] = ("",)) -> None:
        """Show the output of --explain and --profile: below the report, or on standard error if the report is data."""
        if self.profile is None:
            return
        human = self.console.for_people
        palette = self.console.palette(None if human else sys.stderr)
        show = self.console.lines if human else lambda lines: self.console.say(*lines)
        from asyncstate import extend

        analysis = extend.provided("analysis", "--profile")
        if self.options.get("explain"):
            from asyncstate.report.blockers import held_back

            show([*between, *analysis.run_lines(self.profile, palette, held_back(report, plan))])
        if self.options.get("profile"):
            show([*between, *analysis.profile_lines(self.profile, palette)])

    def _write_files(self, report: RunReport, plan: Plan | None) -> None:
        """Write the files of --junit, --races and --report; the others also if memory runs out for one."""
        for option, text in (("junit", self._junit), ("races", self._races), ("report", self._page)):
            if path := self.options.get(option):
                try:
                    self.console.write_file(path, text(report, plan))
                except MemoryError:
                    self.console.unwritten(path, "memory ran out")

    def _junit(self, report: RunReport, plan: Plan | None) -> str:
        from asyncstate.report.junit import junit_xml

        return junit_xml([self._placed(report, plan, report.rows, self.problem)])

    def _races(self, report: RunReport, _plan: Plan | None) -> str:
        import msgspec

        from asyncstate.model.encode import json_bytes

        return json_bytes({"races": msgspec.to_builtins(report.races)}).decode() + "\n"

    def _page(self, report: RunReport, plan: Plan | None) -> str:
        from asyncstate import extend

        result = self._placed(report, plan, (*report.rows, *report.not_started))
        sls, line = self._about.get("sls") or (), str(self._about.get("line") or "")
        page: str = extend.provided("pictures", "--report").page(
            result, self.profile, plan, host=self._host, command=line, sls=tuple(map(str, sls))
        )
        return page

    def _line(self) -> str:
        return self.console.secrets.redactor.text(shown_command(self.console.arguments))

    def _announce_unknown(self, plan: Plan) -> None:
        """Print the number of states with unknown effects, for people, if more than one state can run at once."""
        if plan.unknown and self.console.for_people and self.console.warns:
            from asyncstate.report.issues import unknown_lines

            self.console.say(*unknown_lines(plan))

    def _warn(self, issues: list[Issue] | tuple[Issue, ...]) -> None:
        if issues and self.console.warns:
            from asyncstate.report.issues import warning_lines

            self.console.say(*warning_lines(issues, self.console.palette(sys.stderr)))


def shown_command(arguments: Iterable[str]) -> str:
    """Return the command line, quoted for a shell, without the values of the pillar and of state arguments."""
    return shlex.join(["asyncstate", *_shown(arguments)])


def _shown(arguments: Iterable[str]) -> Iterator[str]:
    before = ""
    for word in arguments:
        name, equals, _ = word.partition("=")
        if before == _SECRETIVE:
            yield _HIDDEN
        elif equals and (name == _SECRETIVE or (name.isidentifier() and name not in _HARMLESS)):
            yield f"{name}={_HIDDEN}"
        else:
            yield word
        before = word
