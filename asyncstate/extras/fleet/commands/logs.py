"""``asyncstate fleet logs``: the log of a host's agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.completion import complete_hosts
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "logs",
    forms=("human", "jsonl"),
    examples=(
        ("asyncstate fleet logs db1", "The last lines of the agent of db1."),
        ("asyncstate fleet logs db1 --follow --lines 0", "What it logs from now on, until Ctrl-C."),
    ),
)
@click.argument("host", shell_complete=complete_hosts)
@option("-f", "--follow", is_flag=True, help="Follow the log until Ctrl-C.")
@option(
    "-n",
    "--lines",
    "number",
    type=click.IntRange(min=0),
    default=100,
    metavar="N",
    help="Show the last N lines only (100).",
)
@connection_options
def command(console: Console, /, host: str, number: int, *, follow: bool, **options: Any) -> int:
    """Show the log of the agent of HOST, without secrets.

    An agent sends the lines of its --fleet-log level and above; the server keeps the last of them, whether the agent
    is there or not.
    """
    return console.run(lambda: _logs(console, host, number, options, follow=follow), on_signal=0 if follow else None)


async def _logs(console: Console, host: str, number: int, options: dict[str, Any], *, follow: bool) -> int:
    from asyncstate.extras.fleet.controller.records import host_infos, require_known
    from asyncstate.extras.fleet.logbook import LogReader

    board, _ = operator_of(options)
    async with board:
        reader = LogReader(board, host)
        lines = await reader.present()
        if not lines:
            require_known(host, await host_infos(board))
            console.say(f"{host} has logged nothing")
        for line in lines[len(lines) - number if number < len(lines) else 0 :]:
            _show(console, line)
        if follow:
            async for line in reader.coming():
                _show(console, line)
    return 0


def _show(console: Console, line: str) -> None:

    from asyncstate.extras.fleet.logbook import fields_of
    from asyncstate.report.terminal import clean

    fields = fields_of(line)
    if console.out == "jsonl":
        from asyncstate.model.encode import encoded

        console.write(encoded(fields) + b"\n")
        return
    head = [f"{clean(str(fields.pop(name, '')))}" for name in ("timestamp", "level", "event")]
    trace = clean(str(fields.pop("exception", "")))
    rest = [f"{clean(key)}={clean(str(value))}" for key, value in fields.items()]
    shown = [f"{head[0][:19]} {head[1]:<8} {head[2]}", *([f"[{', '.join(rest)}]"] if rest else [])]
    console.lines(["  ".join(shown), *trace.splitlines()])
