"""``asyncstate fleet apply``: a run across hosts, from its offer to its report. On asyncio, as signals are."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.fleet.connection import connection_options, operator_of
from asyncstate.cli.framework import Command, option
from asyncstate.cli.options import config_file_options, data_option, settings_from
from asyncstate.cli.salt import MappingType
from asyncstate.fleet.tale import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.fleet.controller import Controller, FleetEnd
    from asyncstate.fleet.tale import HostEnd
    from asyncstate.model.event import AnyEvent
    from asyncstate.report.recorded import RecordedReport


@click.command(
    "apply",
    cls=Command,
    examples=(
        ("asyncstate fleet apply --target '*'", "The highstate of all hosts, as one run."),
        ("asyncstate fleet apply web db --target 'G@role:db or web*' --test", "A dry run of two SLS on some hosts."),
    ),
)
@click.argument("sls", nargs=-1, metavar="[SLS]...")
@option(
    "--target",
    section="Selection",
    required=True,
    metavar="EXPR",
    help="Which hosts, as Salt's compound targets: '*', web1, 'web*', L@a,b, 'G@role:db and not E@old.*', N@group.",
)
@connection_options
@option("--exclude", section="Selection", multiple=True, metavar="NAME", help="Leave out an SLS or an ID; repeatable.")
@option("--saltenv", section="Tree", metavar="ENV", help="Environment of the SLS files.")
@option(
    "--pillar",
    section="Tree",
    metavar="JSON|YAML",
    type=MappingType(),
    help="Pillar data, merged over that of each host. No secrets: the server and the hosts keep it with the offer.",
)
@option("--test/--no-test", section="Run", default=False, help="Dry run: show what would change and change nothing.")
@option(
    "-j", "--concurrency", section="Run", metavar="N", type=click.IntRange(min=1), help="States at once on each host."
)
@option(
    "--deadline",
    section="Run",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    help="How long hosts have to answer (60).",
)
@option(
    "--patience",
    section="Run",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    help="How long hosts wait without a sign of this program, and this program for lost hosts if states are to wait "
    "for them (600).",
)
@option(
    "--on-lost",
    section="Run",
    type=click.Choice(["fail", "wait"]),
    default="fail",
    help="What becomes of states that wait for a host that is lost: they fail (default), or wait for it.",
)
@config_file_options
@data_option("human", "json", "jsonl")
@click.pass_obj
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Bring many hosts into the state that their trees describe, as one run.

    Each host compiles its own part. A state may require states of other hosts: `- require: [{host: db1, service:
    postgresql}]`. Without SLS, each host applies its highstate. A host that does not answer is a failure with its name.
    """
    from asyncstate.cli.event_loop import run_on

    settings = settings_from(console, options)
    return run_on("asyncio", lambda: _apply(console, settings, sls, options))


async def _apply(console: Console, settings: Settings, sls: tuple[str, ...], options: dict[str, Any]) -> int:
    import os

    from asyncstate.fleet.controller import Controller, Request
    from asyncstate.fleet.protocol import Options

    board, signer = operator_of(options)
    request = Request(
        target=options["target"],
        sls=sls,
        options=Options(
            test=options["test"],
            concurrency=options["concurrency"],
            exclude=tuple(options["exclude"]),
            saltenv=options["saltenv"],
            pillar=options["pillar"] or {},
            on_lost=options["on_lost"],
        ),
        deadline=options["deadline"],
        patience=options["patience"],
    )
    shown = Shown(console)
    async with board:
        controller = Controller(board, signer, os.urandom(8).hex(), request, shown, nodegroups=settings.nodegroups)
        with signals_of(console, settings, controller):
            end = await controller.drive()
    shown.end(end, settings)
    return end.exit_code


def signals_of(console: Console, settings: Settings, controller: Controller) -> AbstractContextManager[None]:
    """Let signals stop and cancel the run, by the rules of a local one."""
    from asyncstate.cli.session import ended_by_signals

    class Ended:
        def stop(self, reason: str) -> None:
            controller.cancel(reason)

        def cancel(self, reason: str) -> None:
            controller.cancel(reason, now=True)

    return ended_by_signals(Ended(), console.say, settings.grace_seconds)


class Shown(Observer):
    """Shows a run: its events as lines of JSON while it goes on, else its reports at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._reports: dict[str, RecordedReport] = {}

    def begun(self, host: str, attempt: int) -> None:  # noqa: ARG002 - the observer's interface
        """Begin the report of a host anew."""
        from asyncstate.report.recorded import RecordedReport

        self._reports[host] = RecordedReport()

    def event(self, host: str, event: AnyEvent) -> None:
        """Take an event of a host."""
        self._reports[host].on_event(event)
        if self._console.out == "jsonl":
            import msgspec

            from asyncstate.model.event import encode_event

            fields = msgspec.json.decode(encode_event(event))
            self._console.write(msgspec.json.encode({"host": host, **fields}) + b"\n", redacted=True)

    def lost(self, host: str, seconds: float) -> None:
        """Say that a host is lost."""
        self._console.say(f"{host} is lost: there was no sign of it for {seconds:.0f} s")

    def ended(self, host: str, end: HostEnd) -> None:
        """Say why the part of a host has no report."""
        if end.why:
            self._console.say(f"{host}: {end.why}")

    def end(self, end: FleetEnd, settings: Settings) -> None:
        """Show the whole run."""
        if end.issues:
            from asyncstate.report.issues import issue_lines

            self._console.say(*issue_lines(end.issues, self._console.palette()))
        if self._console.out == "json":
            rows = {host: recorded.report().rows for host, recorded in sorted(self._reports.items())}
            self._console.data({**{host: {} for host in end.hosts}, **rows}, redacted=True)
        elif self._console.out == "human":
            self._console.lines(self._human(end, settings), redacted=True)

    def _human(self, end: FleetEnd, settings: Settings) -> Iterator[str]:
        from asyncstate.report.human import report_lines, style_from_options

        width = shutil.get_terminal_size().columns
        style = style_from_options(settings.opts(), self._console.palette(), width=width, places={})
        for host, recorded in sorted(self._reports.items()):
            yield from report_lines(recorded.report("lost"), style, host)
            yield ""
        failed = [host for host, each in end.hosts.items() if each.exit_code]
        said = f": {', '.join(failed)}" if failed else ""
        yield f"Run {end.run}: {len(end.hosts)} hosts, {len(failed)} failed{said}"
