"""``asyncstate shake``: run a tree in every order that matters, in copies of a root, and report what differs."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Command, option
from asyncstate.cli.options import data_option, selection_options, tree_options
from asyncstate.cli.selection import complete_sls, select, states_called

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from concurrent.futures import Future

    from asyncstate.cli.console import Console
    from asyncstate.model.plan import Plan
    from asyncstate.shake.orders import Order
    from asyncstate.shake.outcome import Outcome
    from asyncstate.shake.rooms import Rooms
    from asyncstate.shake.search import Batch, Result

_EVERY = 5.0
"""Seconds between two lines of progress."""


@click.command(
    "shake",
    cls=Command,
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
@click.argument("sls", nargs=-1, shell_complete=complete_sls)
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
    multiple=True,
    help="Delay only the states with this ID or name; repeatable. All states run all the same.",
)
@option(
    "-j",
    "--concurrency",
    section="Run",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many copies may be in use at once; in each, one state runs at a time. Default: one per CPU, at most 8.",
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
    section="Output",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Keep the root after the serial run as DIR/serial, and that of each finding as DIR/1, DIR/2 and so on.",
)
@tree_options
@selection_options
@data_option("human", "json", "yaml")
@click.pass_obj
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
    **options: Any,
) -> int:
    """Find orders that a tree needs and nowhere says, by running it.

    The tree runs in copies of --root, one state at a time: in serial order, and then with each state delayed as long as
    the plan allows. All these orders are legal, so rows and files must always be the same. Where they are not, a
    requisite or a footprint is missing, and a search finds the two states. This machine and --root are not changed.

    Exit code 0: no difference, 1: wrong usage, or the tree does not compile, 2: differences, 124: out of time.
    """
    settings, selection = select(console, sls, options)
    from asyncstate.shake.rooms import Rooms, refusal
    from asyncstate.shake.sketch import Job

    reason = refusal(root)
    if reason:
        raise click.BadParameter(reason, param_hint="--root")
    if keep is not None and os.path.lexists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise click.BadParameter(f"{keep} is not an empty folder", param_hint="--keep")
    settings.validate()
    job = Job({}, selection.sls, selection.saltenv, list(selection.exclude), list(selection.ids))
    rooms = Rooms(root, settings, job, network=network, limit=timeout)
    try:
        return _Shaking(console, rooms, concurrency or min(8, os.cpu_count() or 1), timeout).report(only, ignore, keep)
    finally:
        rooms.close()


class _Shaking:
    """One search: runs what it asks for, and shows how far it is."""

    def __init__(self, console: Console, rooms: Rooms, width: int, timeout: float | None) -> None:
        self._console = console
        self._rooms = rooms
        self._width = width
        self._began = self._said = time.monotonic()
        self._ends = None if timeout is None else self._began + timeout
        self._one_run = 0.0

    def report(self, only: tuple[str, ...], ignore: tuple[str, ...], keep: str | None) -> int:
        """Search, write the answer, and return the exit code."""
        from asyncstate.shake.report import result_data, result_lines

        try:
            plan, serial = self._rooms.first()
            self._one_run = time.monotonic() - self._began
            self._describe(plan, serial)
            chunks = {chunk for wanted in only for chunk in states_called(plan, wanted)} if only else None
            result = self._search(plan, serial, chunks, ignore)
        except TimeoutError:
            self._console.complain("out of time: the search is not complete", "Give it more time, or name --only ID.")
            return 124
        if result.broken_off:
            hint = "Mend that first: what did not run cannot be compared."
            self._console.complain(f"the serial run broke off: {result.broken_off}", hint)
            return 1
        if keep is not None:
            self._keep(plan, result, keep)
        if self._console.out == "human":
            self._console.lines(result_lines(plan, result, self._console.palette()))
        else:
            self._console.data(result_data(plan, result))
        return 2 if result.found else 0

    def _describe(self, plan: Plan, serial: Outcome) -> None:
        from asyncstate.report.summary import describe_tag
        from asyncstate.report.terminal import count, one_line

        failed = [tag for tag, row in serial.rows.items() if row["result"] is False]
        self._say(f"{count(len(plan.chunks), 'state')}; one run takes {self._one_run:.1f} s")
        if failed:
            comment = one_line(" ".join(str(serial.rows[failed[0]]["comment"]).split()))
            self._say(
                f"{count(len(failed), 'state')} failed in the serial run: what they would do is not tried",
                f"  {describe_tag(failed[0])}: {comment}",
            )

    def _search(self, plan: Plan, serial: Outcome, only: set[int] | None, ignore: tuple[str, ...]) -> Result:
        from asyncstate.shake.orders import Orders
        from asyncstate.shake.outcome import IGNORED
        from asyncstate.shake.search import search

        orders = Orders(plan)
        searching = search(plan, only=only, ignore=(*IGNORED, *ignore), base=self._rooms.before)
        with ThreadPoolExecutor(self._width) as pool:
            try:
                return self._driven(searching, pool, lambda order: self._rooms.run(orders.priority(order)), serial)
            except BaseException:
                self._rooms.close()
                pool.shutdown(cancel_futures=True)
                raise

    def _driven(
        self,
        searching: Generator[Batch, tuple[Outcome, ...], Result],
        pool: ThreadPoolExecutor,
        run: Callable[[Order], Outcome],
        serial: Outcome,
    ) -> Result:
        batch = next(searching)[1:]  # the first of the two serial runs was made already
        outcomes: tuple[Outcome, ...] = (serial,)
        try:
            while True:
                if len(batch) > 1:
                    self._say(f"{len(batch)} orders to try, {self._left(len(batch))}")
                running = [pool.submit(run, order) for order in batch]
                for number, each in enumerate(running, 1):
                    outcomes = (*outcomes, self._awaited(each))
                    if time.monotonic() - self._said > _EVERY and number < len(batch):
                        self._say(f"{number} of {len(batch)} orders tried, {self._left(len(batch) - number)}")
                batch = searching.send(outcomes)
                if len(batch) == 1 and time.monotonic() - self._said > _EVERY:
                    self._say("there is a difference: looking for the two states")
                outcomes = ()
        except StopIteration as end:
            result: Result = end.value
            return result

    def _awaited(self, run: Future[Outcome]) -> Outcome:
        return run.result(None if self._ends is None else self._ends - time.monotonic())

    def _left(self, runs: int) -> str:
        return f"about {max(1, round(runs * self._one_run / self._width))} s left"

    def _say(self, *lines: str) -> None:
        self._said = time.monotonic()
        if self._console.out == "human" and self._console.log_level not in {"error", "critical", "quiet"}:
            self._console.say(*lines)

    def _keep(self, plan: Plan, result: Result, folder: str) -> None:
        """Run once more what is to be kept."""
        from asyncstate.shake.orders import Orders

        orders = Orders(plan)
        wanted = {"serial": orders.serial, **{str(n): each.order for n, each in enumerate(result.found, 1)}}
        for name, order in wanted.items():
            place = os.path.abspath(os.path.join(folder, name))
            os.makedirs(place)
            self._rooms.run(orders.priority(order), keep=place)
