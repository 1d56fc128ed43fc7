"""``asyncstate shake``: runs a tree in every order that matters, in copies of a root, and reports differences."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.cli.options import chosen_options
from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.proof.shake.outcome import Outcome
    from asyncstate.extras.proof.shake.rooms import Rooms
    from asyncstate.extras.proof.shake.search import Result
    from asyncstate.model.plan import Plan

_LATEST = 60.0
"""The longest time from a signal to the end of running programs, in seconds."""
_BATCHES = 8
"""The number of delays that each slot tries before differences are explained: few, so that a search that is cut off has
explained most; not fewer, as slots wait for each other at the end."""


@new_command(
    "shake",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate shake web --root debian", "Every state of web.sls is delayed once, each in a new copy."),
        (
            "mkdir empty && asyncstate shake web --root empty",
            "A root with nothing in it borrows our programs.",
        ),
        ("asyncstate shake --root debian -j 4 --ignore '/srv/www/cache/*'", "The highstate, four copies at once."),
        ("asyncstate shake web --root debian --only nginx_conf --keep out", "One state; look at the roots afterwards."),
    ),
)
@option(
    "--root",
    section="Run",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="The root to run in: a folder with a system, or an almost empty one. It is never changed: each run gets a "
    "copy that shares nothing with this machine.",
)
@option(
    "--only",
    section="Run",
    metavar="ID",
    offers="id",
    multiple=True,
    help="Delay only the states with this ID or name; repeatable. All states run all the same.",
)
@option(
    "-j",
    "--concurrency",
    section="Run",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of copies in use at once; in each, one state runs at a time. Default: one per CPU, at most 8.",
)
@option(
    "--timeout",
    section="Run",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop the search after this time and exit with 124. Without it, a single run may take ten times as long as "
    "the first, and a minute more.",
)
@option("--network", section="Run", is_flag=True, help="Let the states use this machine's network. Default: none.")
@option(
    "--ignore",
    section="Run",
    metavar="GLOB",
    multiple=True,
    help="Paths that may differ ('*' also matches '/'); repeatable. Logs, caches and the like may anyway.",
)
@option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Keep the root after the serial run as DIR/serial, and the root of each finding as DIR/1, DIR/2 and so on.",
)
@option(
    "--progress",
    default="auto",
    type=click.Choice(["auto", "live", "plain", "none"]),
    help="Show progress on standard error: a live display on a terminal, else a line now and then (auto), or lines "
    "always (plain).",
)
@chosen_options
def command(
    console: Console,
    /,
    sls: tuple[str, ...],
    *,
    root: str,
    only: tuple[str, ...],
    concurrency: int | None,
    timeout: float | None,
    network: bool,
    ignore: tuple[str, ...],
    keep: str | None,
    progress: str,
    **options: Any,
) -> int:
    """Find missing requisites by running the tree in different orders.

    The tree runs in copies of --root, one state at a time: in serial order, and then with each state delayed as long as
    the plan allows. All these orders are legal, so rows and files must always be the same. Where they are not, a
    requisite or a footprint is missing, and a search finds the two states. This machine and --root are not changed.
    A search that is cut off, by --timeout or a signal, reports what it has found so far.

    Exit code 0: no difference, 1: wrong usage, or the tree does not compile, 2: differences, 124: out of time.
    """
    settings, selection = console.selected(sls, options)
    from asyncstate.extras.proof.shake.job import Job
    from asyncstate.extras.proof.shake.rooms import Rooms, refusal

    reason = refusal(root)
    if reason:
        raise click.BadParameter(reason, param_hint="--root")
    if keep is not None and os.path.lexists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise click.BadParameter(f"{keep} is not an empty folder", param_hint="--keep")
    settings.validate()
    job = Job({}, selection.sls, selection.saltenv, list(selection.exclude), list(selection.ids))
    rooms = Rooms(root, settings, job, network=network, limit=timeout)
    try:
        width = concurrency or min(8, os.cpu_count() or 1)
        return _Shaking(console, rooms, width, timeout, progress).report(only, ignore, keep)
    finally:
        rooms.close()


class _Shaking:
    """One search: makes its runs, shows its progress, and reports its findings, even if it is cut off."""

    def __init__(self, console: Console, rooms: Rooms, width: int, timeout: float | None, progress: str) -> None:
        from asyncstate.extras.proof.shake.driver import Driver
        from asyncstate.extras.proof.shake.progress import Progress

        self._console = console
        self._rooms = rooms
        self._width = width
        self._keeps_quiet = progress == "none" or not console.warns
        if progress == "auto" and console.out != "human" and not sys.stderr.isatty():
            self._keeps_quiet = True
        is_live = progress == "live" or (progress == "auto" and sys.stderr.isatty())
        self._progress = Progress(self._say, width, sys.stderr if is_live and not self._keeps_quiet else None)
        self._driver = Driver(width, timeout, cancel=rooms.close, tick=self._progress.tick)

    def report(self, only: tuple[str, ...], ignore: tuple[str, ...], keep: str | None) -> int:
        """Search, write the answer, and return the exit code."""
        from asyncstate.extras.proof.shake.driver import Signalled
        from asyncstate.extras.proof.shake.outcome import Outcome
        from asyncstate.extras.proof.shake.report import result_data, result_lines
        from asyncstate.extras.proof.shake.search import Result
        from asyncstate.model.plan import Plan

        plan, serial, result = Plan((), (), (), ()), Outcome({}, {}), Result(complete=False)
        with self._driver, self._console.signalled(lambda number: self._driver.stop(Signalled(number)), _LATEST):
            try:
                plan, serial = self._driver.call(self._rooms.first)
                self._describe(plan, serial)
                chunks = {chunk for wanted in only for chunk in self._console.named(plan, wanted)} if only else None
                result = self._search(plan, serial, chunks, ignore)
                if keep is not None and result.complete and not result.broken_off:
                    self._keep(plan, result, keep)
            except (TimeoutError, Signalled):
                pass  # `_end` reports it
            except AsyncStateError:
                if not result.runs:
                    raise
            finally:
                self._progress.close()
        self._console.answer(partial(result_lines, plan, result), lambda: result_data(plan, result, serial))
        return self._end(result)

    def _end(self, result: Result) -> int:
        """Print the reason if the search was cut off, and return the exit code."""
        from asyncstate.extras.proof.shake.driver import Signalled

        if result.broken_off:
            hint = "Mend that first: what did not run cannot be compared."
            self._console.complain(f"the serial run broke off: {result.broken_off}", hint)
            return 1
        reason = self._driver.ended_by
        if reason is None:
            return 2 if result.found else 0
        missing = "not all roots were kept" if result.complete else "the search is not complete"
        if isinstance(reason, Signalled):
            self._console.complain(f"{reason.name}: {missing}")
            return reason.exit_code
        if isinstance(reason, TimeoutError):
            self._console.complain(f"out of time: {missing}", "Give it more time, or name --only ID.")
            return 124
        self._console.complain(f"{missing}: {reason}")
        return 1

    def _describe(self, plan: Plan, serial: Outcome) -> None:
        from asyncstate.extras.proof.shake.report import failures, shortened
        from asyncstate.report.summary import describe_tag
        from asyncstate.report.terminal import clean, count, short_time

        seconds = self._progress.ran_once()
        self._say(f"{count(len(plan.chunks), 'state')}; one run takes {short_time(seconds)}")
        failed = failures(serial)
        if failed:
            comment = clean(shortened(failed[0]["comment"]))
            self._say(f"{count(len(failed), 'state')} failed in the serial run: what they would do is not tried")
            self._say(f"  {describe_tag(failed[0]['state'])}: {comment}")

    def _search(self, plan: Plan, serial: Outcome, only: set[int] | None, ignore: tuple[str, ...]) -> Result:
        from asyncstate.extras.proof.shake.orders import Orders
        from asyncstate.extras.proof.shake.outcome import IGNORED
        from asyncstate.extras.proof.shake.search import search

        orders = Orders(plan)
        searching = search(
            plan,
            only=only,
            ignore=(*IGNORED, *ignore),
            base=self._rooms.before,
            at_once=_BATCHES * self._width,
        )
        return self._driver.drive(
            searching,
            lambda order: self._rooms.run(orders.priority(order)),
            serial=serial,
            watch=self._progress.watch,
        )

    def _say(self, line: str) -> None:
        if not self._keeps_quiet:
            self._console.say(line)

    def _keep(self, plan: Plan, result: Result, folder: str) -> None:
        """Repeat the serial run and the run of each pair found, with copies of their roots in ``folder``."""
        from asyncstate.extras.proof.shake.orders import Orders

        orders = Orders(plan)
        wanted = {"serial": orders.serial, **{str(n): each.order for n, each in enumerate(result.found, 1)}}
        for name, order in wanted.items():
            place = os.path.abspath(os.path.join(folder, name))
            os.makedirs(place)
            self._driver.call(partial(self._rooms.run, orders.priority(order), keep=place))
