"""``asyncstate show diff``: the differences between two plans, or between a plan and the tree."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from asyncstate.cli.framework import completes, new_command, selection_option
from asyncstate.cli.options import part_options, what_if_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.plans.record import PlanRecord

_RUN: Final = "run:"


@new_command(
    "diff",
    forms=("human", "json", "yaml", "mermaid"),
    examples=(
        ("asyncstate show diff web.plan", "What has changed in the tree since a plan was saved."),
        ("asyncstate show diff old.plan new.plan", "Two saved plans."),
        ("asyncstate show diff main.plan web --out mermaid", "A picture for a pull request."),
        ("asyncstate show diff run:latest", "What has changed in the tree since the last run."),
    ),
)
@click.argument("first", metavar="FILE|run:ID", shell_complete=completes("plan"))
@click.argument("other", metavar="[FILE|run:ID|SLS...]", nargs=-1, shell_complete=completes("sls"))
@part_options
@selection_option(
    "--file",
    type=click.Path(exists=True, dir_okay=False),
    help="The SLS file that the plan was made from with --file. Only the command line names a file to compile.",
)
@what_if_options
def command(console: Console, /, first: str, other: tuple[str, ...], **options: Any) -> None:
    """Show how a saved plan differs from a later one, or from the tree.

    FILE is what plan --plan-out wrote, run:ID the plan of a past run (run:latest: of the last one). The second
    one is such a plan, too, or SLS names; without either, the tree is compiled with the selection of the plan. Lines
    with + are only in the second, with - only in the first; ~ says what changed, > what has another place in the serial
    order.
    """
    from asyncstate.extras.analyse.plan_diff import diff_data, diff_lines, to_mermaid
    from asyncstate.plans.comparison import compare

    before = _saved(console, first, options)
    is_saved = len(other) == 1 and (
        other[0].startswith(_RUN) or os.path.isfile(other[0]) or os.sep in other[0] or other[0].endswith(".plan")
    )
    after = _saved(console, other[0], options) if is_saved else _of_tree(console, before, other, options)
    differences = compare(before, after)
    if console.out == "mermaid":
        console.write(to_mermaid(before, after, differences))
    else:
        console.answer(partial(diff_lines, differences), lambda: diff_data(differences))


def _saved(console: Console, word: str, options: dict[str, Any]) -> PlanRecord:
    """Return the plan that an argument names: of a past run, or in a file."""
    if word.startswith(_RUN):
        from asyncstate.cli.saved_plan import plan_of_run

        return plan_of_run(console.settings(options), word.removeprefix(_RUN) or None)
    from asyncstate.cli.saved_plan import read_plan

    return read_plan(word)


def _of_tree(console: Console, before: PlanRecord, words: tuple[str, ...], options: dict[str, Any]) -> PlanRecord:
    from asyncstate.cli.saved_plan import recorded, select_again
    from asyncstate.runtime import StateRuntime

    chosen = bool(options.get("ids") or options.get("exclude"))
    if not chosen and not words:
        options["saltenv"] = options.get("saltenv") or before.selection.saltenv
    settings, selection = console.selected(words, options)
    if not chosen and selection.sls is None:
        selection = select_again(before, options)
    elif options["file"]:
        raise click.UsageError("--file cannot be combined with SLS names, --id or --exclude")
    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        if options.get("file"):
            plan = runtime.compile_file_sync(options["file"], saltenv=selection.saltenv)
        else:
            plan = runtime.compile_sync(**selection._asdict())
        plan = runtime.hold(plan, before.inputs.files)
        return runtime.record(plan, recorded(selection, options), make_key=False)
