"""``asyncstate apply``: bring this machine into the state a tree describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command, option, run_option, selection_option
from asyncstate.cli.options import (
    in_a_directory,
    part_options,
    report_options,
    run_options,
    telemetry_options,
)
from asyncstate.cli.settings import require_file_again

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings


@new_command(
    "apply",
    examples=(
        ("asyncstate apply", "The highstate: what top.sls assigns to this machine."),
        ("asyncstate plan web db --state-output full", "A dry run of two SLS files; each change is shown as a diff."),
        ("asyncstate apply web --id nginx_conf", "One ID of an SLS, with what it requires."),
        ("asyncstate apply --only-failed", "What failed in the last run or did not start, and what that requires."),
        ("asyncstate apply --file-root ./salt --pillar-root ./pillar --state-output changes", "A tree in a checkout."),
        ("asyncstate apply web test=True pillar='{\"port\": 8080}'", "The same in Salt's spelling."),
        ("asyncstate plan web --plan-out web.plan", "Save what would be done, for a review."),
        ("asyncstate apply --plan web.plan", "Do exactly what was reviewed, or say what has changed since."),
        ("asyncstate apply --resume", "Continue a run that was killed or cancelled."),
        ("asyncstate apply --out json | jq 'map(select(.result == false))'", "Only what failed, for a program."),
    ),
)
@click.argument("sls", nargs=-1, shell_complete=completes("sls"))
@part_options
@selection_option(
    "--file",
    type=click.Path(exists=True, dir_okay=False),
    help="Apply this file, from any folder, instead of SLS files. It cannot include, extend or exclude anything. Give "
    "it again with the --plan or --resume of such a run.",
)
@selection_option(
    "--plan",
    type=click.Path(exists=True, dir_okay=False, allow_dash=False),
    help="Apply the plan that --plan-out saved. SLS files, --exclude, --id and --saltenv come from FILE. If the tree "
    "compiles to another plan by now, say what differs, and do nothing.",
)
@option(
    "--plan-out",
    type=click.Path(dir_okay=False),
    callback=in_a_directory,
    help="Save the plan of a dry run to FILE. It has no secrets, is reviewed, and then applied with --plan.",
)
@selection_option(
    "--only-failed",
    metavar="[RUN]",
    is_flag=False,
    flag_value="latest",
    offers="run",
    help="Select only the states that failed in a past run or did not start. They come with what they require and what "
    "follows their changes. RUN is the ID of a run; default: the last real run. SLS names stand before it.",
)
@run_options
@run_option(
    "--resume",
    metavar="[RUN]",
    is_flag=False,
    flag_value="latest",
    offers="run",
    help="Resume a run that was killed or cancelled. States that ended keep their rows and do not run again. RUN "
    "is its ID or the beginning of it; default: the last run. Without SLS names, those of that run.",
)
@run_option(
    "--force",
    rare=True,
    is_flag=True,
    help="With --resume: continue even if the tree, pillar or grains changed, or programs of the killed "
    "run still run. Rows are carried over of states that are the same.",
)
@run_option(
    "--trace-effects",
    rare=True,
    is_flag=True,
    help="Record what each state really reads and writes, and warn of races: two states that touch the same path, with "
    "no order between them. Needs strace; works at any -j.",
)
@option(
    "--races",
    rare=True,
    type=click.Path(dir_okay=False),
    callback=in_a_directory,
    help="Write the races that --trace-effects sees to FILE, as JSON.",
)
@report_options
@telemetry_options
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Bring this machine into the state a tree describes.

    SLS are names of SLS files (web is web.sls or web/init.sls in a file root). Without names, top.sls selects them
    (the highstate). Independent states run at the same time; the result is the same as if they ran one by one.

    The first Ctrl-C starts nothing more and lets running states finish, the second cancels them.
    """
    return apply(console, sls, options)


def apply(console: Console, sls: tuple[str, ...], options: dict[str, Any]) -> int:
    """Run ``apply`` with these SLS names and options; return the exit code. Raises UsageError before anything runs."""
    reviewed = None
    if options["plan"]:
        from asyncstate.cli.saved_plan import read_plan

        reviewed = read_plan(options["plan"])
        options["saltenv"] = options["saltenv"] or reviewed.selection.saltenv
    settings, selection = console.selected(sls, options)
    _require_sls(selection)
    if reviewed is not None:
        if selection.sls or selection.ids or selection.exclude:
            raise click.UsageError("--plan cannot be combined with SLS names, --id or --exclude")
        from asyncstate.cli.saved_plan import select_again

        selection = select_again(reviewed, options)
    elif options["file"] and (selection.sls or selection.ids or selection.exclude):
        raise click.UsageError("--file cannot be combined with SLS names, --id or --exclude")
    wanted = None
    if options["only_failed"]:
        if options["file"] or selection.ids or options["plan"] or options["resume"] is not None:
            raise click.UsageError(
                "--only-failed selects states by itself: leave out --file, --id, --plan and --resume"
            )
        from asyncstate.cli.only_failed import unfinished

        wanted = unfinished(settings, selection, options["only_failed"], options["pillar"] or {})
        if not wanted.tags:
            console.say(f"nothing failed in run {wanted.run}, and every state of it started: nothing to do")
            _answer_without_run(console)
            return 0
    if options["trace_effects"] and (settings.test or options["mock"]):
        raise click.UsageError("--trace-effects needs a real run: a dry run changes nothing that could be seen")
    if options["plan_out"] and not settings.test:
        raise click.UsageError(
            "--plan-out needs a dry run: asyncstate plan --plan-out FILE. What it saves is reviewed first"
        )
    if options["races"] and not options["trace_effects"]:
        raise click.UsageError("--races needs --trace-effects: only a run that is watched shows races")
    if options["force"] and options["resume"] is None:
        raise click.UsageError("--force belongs to --resume")
    if options["resume"] is not None:
        if settings.test or options["mock"]:
            raise click.UsageError("--resume needs a real run: a dry run leaves nothing to resume")
        selection = _of_resumed(settings, selection, options)
    from asyncstate.cli.session import Session

    return Session(console, settings, options).apply(
        wanted.selection if wanted else selection, reviewed=reviewed, unfinished=wanted
    )


def _answer_without_run(console: Console) -> None:
    """Write the answer and the file of --junit for no states: a program must not take an older file for its result."""
    if not console.for_people and console.out != "jsonl":
        console.data({})
    if console.junit:
        from asyncstate.report.junit import problems_xml

        console.write_file(console.junit, problems_xml([]))


def _require_sls(selection: Selection) -> None:
    """Raise UsageError if a saved plan is named where an SLS belongs."""
    import os

    for name in selection.sls or ():
        if os.path.isfile(name):
            from asyncstate.cli.saved_plan import read_plan
            from asyncstate.errors import AsyncStateError

            try:
                read_plan(name)
            except AsyncStateError:
                continue
            raise click.UsageError(
                f"{name} is a saved plan, not an SLS. To do what it says: asyncstate apply --plan {name}; to see how "
                f"the tree differs from it: asyncstate show diff {name}"
            )


def _of_resumed(settings: Settings, selection: Selection, options: dict[str, Any]) -> Selection:
    """Return the selection to compile to resume a run: that of the command line, or else the run's own.

    Raises JournalError, ResumeRefused, UsageError.
    """
    from asyncstate.cli.past_runs import journal_in, own_selection, selection_of
    from asyncstate.resume.keeping import resumable

    entry = resumable(journal_in(settings), options["resume"])
    options["resume"] = entry.id
    if options["file"] or selection.sls or selection.ids or selection.exclude:
        return selection
    if entry.about.get("command") != "apply":
        raise click.UsageError(f"run {entry.id} was not made by apply: name the SLS to resume it with")
    require_file_again(selection_of(entry).file, None, f"run {entry.id} was made")
    return own_selection(entry, selection)
