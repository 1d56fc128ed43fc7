"""``asyncstate explain``: the reasons for the place of a state in a run, and its dependencies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command, option
from asyncstate.cli.options import compiled_options
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.analyse.profile import Profile
    from asyncstate.model.plan import Plan


@new_command(
    "explain",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate explain nginx_conf", "A state of the highstate, by its ID or name."),
        ("asyncstate explain nginx_conf web --out json", "The same for one SLS file, for a program."),
        ("asyncstate explain nginx_conf --events run.jsonl", "Also what it really waited for, in a recorded run."),
        ("asyncstate explain E305", "What the code of a mistake means, with an example, and how to mend it."),
    ),
)
@click.argument("wanted", metavar="ID", shell_complete=completes("id_or_code"))
@compiled_options
@option(
    "--events",
    type=click.Path(dir_okay=False, exists=True, allow_dash=True),
    help="Also show what the state really waited for, how long, and its outcome. FILE has the events of a run (apply "
    "--out jsonl > FILE); - is standard input.",
)
def command(console: Console, /, wanted: str, sls: tuple[str, ...], events: str | None, **options: Any) -> None:
    """Explain when a state runs, and what it depends on; or what the code of a mistake means.

    Shows its place in the serial order, what it waits for and why, and what would skip or fail it. ID is the ID or the
    name of a state, or a code such as E305. SLS are names of SLS files; without names, those that top.sls assigns.
    Nothing is run.
    """
    if re.fullmatch(r"[EWew]\d{3}", wanted):
        _explain_code(console, wanted.upper())
        return
    settings, selection = console.selected(sls, options)
    from asyncstate.extras.analyse.explain import explain_lines, explanation
    from asyncstate.report.terminal import parted
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        plan = runtime.compile_sync(**selection._asdict())
        found = console.named(plan, wanted)
        plan = runtime.shown(plan)
        profile = _recorded(console, plan, events) if events is not None else None
    console.answer(
        lambda palette: parted(explain_lines(plan, index, palette, profile) for index in found),
        lambda: [explanation(plan, index, profile) for index in found],
    )


def _explain_code(console: Console, code: str) -> None:
    from msgspec import to_builtins

    from asyncstate import extend

    manual = extend.provided("manual", "the meaning of a code")
    if code not in (codes := manual.codes()):
        near = nearest(code, codes)
        hint = f"did you mean {near}?" if near else "check prints the code of each mistake"
        raise click.UsageError(f"there is no code {code}: {hint}")
    found = codes[code]
    console.answer(lambda _palette: manual.code_lines(code, found), lambda: {"code": code} | to_builtins(found))


def _recorded(console: Console, plan: Plan, events: str) -> Profile:
    """Read a recorded run. Raises UsageError for any other file; prints a note if it was recorded with another tree."""
    from asyncstate.extras.analyse.profile import recorded
    from asyncstate.filesystem import open_input
    from asyncstate.journal.entry import lines_in

    try:
        with open_input("/dev/stdin" if events == "-" else events) as file:
            profile = recorded(lines_in(file))
    except ValueError as error:
        raise click.UsageError(f"{events}: {error}") from None
    if profile.digest != plan.digest:
        console.say(f"{events} was recorded with another tree, other settings or another selection than these.")
    return profile
