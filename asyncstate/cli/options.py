"""The options that several commands share, in groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, console_of, option, run_option, selection_option, set_out, tree_option
from asyncstate.cli.settings import MappingType
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from click.shell_completion import CompletionItem

FORMS = ("full", "terse", "mixed", "changes", "filter", "brief")
"""The values of ``--state-output``, each also with ``_id``. Equal to `asyncstate.report.human.FORMS`."""

_ENVIRONMENT = lazy_pattern(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)


class RootType(click.ParamType[tuple[str, str]]):
    """``[ENV=]DIR``: a directory of an environment."""

    name = "root"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return (environment, absolute path). A path may contain ``=`` after its first slash."""
        import os

        if isinstance(value, tuple):
            return value
        match = _ENVIRONMENT.fullmatch(value)
        saltenv, path = (match[1], match[2]) if match else ("base", value)
        try:
            path = os.path.abspath(os.path.expanduser(path))
        except FileNotFoundError:
            self.fail(f"{path}: the working directory no longer exists. Change to one that does", param, ctx)
        if not os.path.isdir(path):
            self.fail(f"{path} is not a directory", param, ctx)
        return saltenv, path

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's interface
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer directories."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="dir")]


def together(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that does what several do, the first of them outermost."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def retold(group: Callable[[Any], Any], helps: Mapping[str, str]) -> Callable[[Any], Any]:
    """Return the options of a group with these flags, each with another help: they mean something else there."""

    def apply(function: Any) -> Any:
        options = {flag: each for each in click.command()(group(lambda: None)).params for flag in each.opts}
        chosen = [options[flag] for flag in helps]
        for each, text in zip(chosen, helps.values(), strict=True):
            each.help = text
        function.__click_params__ = [*getattr(function, "__click_params__", ()), *reversed(chosen)]
        return function

    return apply


def in_a_directory(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a report file in a missing directory before anything runs. Raises BadParameter."""
    import os

    if value and not os.path.isdir(directory := os.path.dirname(os.path.abspath(value))):
        raise click.BadParameter(f"{directory} is not a directory", ctx, param)
    return value


def _tell_console(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Set the attribute of the console with the name of the option: a file that is written even without a run."""
    import os

    if in_a_directory(ctx, param, value):
        setattr(console_of(ctx), str(param.name), os.path.abspath(value or ""))
    return value


_NO_PAGES = (".csv", ".gz", ".json", ".md", ".pdf", ".png", ".svg", ".txt", ".xml", ".yaml", ".yml", ".zip")
"""Endings of names that promise another format than a page has."""


def _page_file(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a page in a missing directory, of another format, or that no extra writes, before anything runs."""
    if in_a_directory(ctx, param, value):
        from asyncstate import extend

        if (value or "").lower().endswith(_NO_PAGES):
            raise click.BadParameter("the report is an HTML page: name it FILE.html", ctx, param)
        extend.provided("pictures", "--report")
    return value


def _hold(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:
    if value:
        console_of(ctx).hold()
    return value


config_file_options: Callable[[Any], Any] = together(
    tree_option(
        "--config",
        rare=True,
        multiple=True,
        metavar="FILE",
        envvar="ASYNCSTATE_CONFIG",
        type=click.Path(exists=True),
        help="Read settings from FILE; repeatable, later ones win. Salt's minion options in YAML, so an existing "
        "/etc/salt/minion works. Default: /etc/asyncstate/config.yaml, ~/.config/asyncstate/config.yaml, then "
        "asyncstate.yaml in this folder or the nearest one above.",
    ),
    tree_option(
        "--trust-writable",
        rare=True,
        is_flag=True,
        default=None,
        help="As root, also follow configuration and load plugins that other users can change. These users can "
        "then make root run anything.",
    ),
)
"""Location of the settings: for commands that need no tree."""

config_options: Callable[[Any], Any] = together(
    config_file_options,
    tree_option(
        "--file-root",
        multiple=True,
        metavar="[ENV=]DIR",
        type=RootType(),
        help="Directory with SLS files and sources, repeatable. The first one with a file wins; ENV is base if not "
        "given. Replaces file_roots of the configuration. Default: salt/ in this folder or the nearest one "
        "above that has a salt/top.sls, else /srv/salt.",
    ),
    tree_option(
        "--pillar-root",
        multiple=True,
        metavar="[ENV=]DIR",
        type=RootType(),
        help="Directory with pillar files and their top.sls. Repeatable; replaces pillar_roots of the "
        "configuration. Default: pillar/ beside that salt/, else /srv/pillar.",
    ),
    tree_option(
        "--pillar",
        metavar="JSON|YAML",
        type=MappingType(),
        help="Pillar data, merged over the pillar files: '{\"port\": 80}'. Salt's pillar='{…}' works too; it also "
        "goes over pillar of the configuration.",
    ),
    tree_option(
        "--grains",
        rare=True,
        metavar="FILE",
        type=MappingType(from_file=True),
        help="Grains (YAML or JSON) that override the grains of this machine.",
    ),
    tree_option(
        "--for-machine",
        rare=True,
        metavar="FILE",
        type=MappingType(from_file=True),
        help="Compile for another machine: FILE (YAML or JSON) has all its grains, including its id. "
        "A template that reads this machine is an error; nothing can be run.",
    ),
    tree_option(
        "--saltenv",
        rare=True,
        metavar="ENV",
        offers="saltenv",
        help="Environment of the SLS files. Default: all for a highstate, base for named SLS.",
    ),
    tree_option(
        "--pillarenv",
        rare=True,
        metavar="ENV",
        offers="saltenv",
        help="Use pillar files of this environment only.",
    ),
)
"""Location of the tree: for every command that loads plugins or compiles."""

tree_options: Callable[[Any], Any] = together(
    config_options,
    tree_option(
        "--top",
        rare=True,
        metavar="FILE",
        help="Name of the top file in the file roots, used if no SLS is given. Default: top.sls.",
    ),
    tree_option(
        "--implicit-order",
        rare=True,
        type=click.Choice(["none", "footprint", "learned", "strict", "file"]),
        help="Order of states without a requisite between them. footprint (default): states that touch the same "
        "file, user, service … keep their order. learned: what commands and custom states were seen to "
        "touch (apply --trace-effects) counts in place of guesses. strict: states with unknown effects keep theirs "
        "as well. file: each state waits for the one before it, as in Salt; steps of an orchestration do so in all "
        "modes but none. none: requisites only.",
    ),
)
"""For every command that compiles."""

part_options: Callable[[Any], Any] = together(
    tree_options,
    selection_option(
        "--exclude",
        rare=True,
        multiple=True,
        metavar="NAME",
        offers="excluded",
        help="Leave out an SLS (NAME or sls:NAME) or an ID (id:NAME), like 'exclude' in an SLS file; repeatable.",
    ),
    selection_option(
        "--id",
        "ids",
        multiple=True,
        metavar="ID",
        offers="id",
        help="Select only this ID and what it requires; repeatable.",
    ),
)
"""For every command that compiles a part of the tree, and what that part is."""

chosen_options: Callable[[Any], Any] = together(
    click.argument("sls", nargs=-1, shell_complete=completes("sls")), part_options
)
"""The same with the names of SLS; none means the highstate."""

test_option: Callable[[Any], Any] = run_option(
    "--test/--no-test",
    default=None,
    help="Dry run: show what would change, change nothing. --no-test overrides 'test: True' of the "
    "configuration. Salt's test=True works too.",
)


def concurrency_option(text: str) -> Callable[[Any], Any]:
    """Declare ``-j``, with this text of help."""
    return run_option("-j", "--concurrency", metavar="N", type=click.IntRange(min=1), help=text)


what_if_options: Callable[[Any], Any] = together(
    run_option(
        "--test/--no-test",
        default=None,
        help="Compile as for a dry run: templates and modules see opts['test'].",
    ),
    concurrency_option("Accepted because apply has it; the answer is the same for any N."),
)
"""Options of apply that compiling commands take as well."""

compiled_options: Callable[[Any], Any] = together(chosen_options, what_if_options)
"""For commands that compile a part of the tree and run nothing."""

wait_option: Callable[[Any], Any] = run_option(
    "--wait",
    rare=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Wait this long for another run to end, with --resume also for programs that a killed run left running "
    "(default: 30). Only one run at a time may change this machine; dry runs never wait.",
)

grace_option: Callable[[Any], Any] = run_option(
    "--grace",
    rare=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="How long running states may continue after SIGTERM or a similar signal before they are cancelled. "
    "Default: grace_seconds of the configuration, 30.",
)

mock_option: Callable[[Any], Any] = run_option(
    "--mock",
    rare=True,
    is_flag=True,
    help="Call no state function: show what would be called, in which order. Conditions are evaluated. Salt's "
    "mock=True works too.",
)

run_options: Callable[[Any], Any] = together(
    test_option,
    wait_option,
    mock_option,
    concurrency_option(
        "Number of states at once. 1 runs them in exactly Salt's order. Default: four per CPU, at most 32."
    ),
    run_option(
        "--failhard",
        is_flag=True,
        default=None,
        help="Start no more states after one has failed. Running states finish.",
    ),
    run_option(
        "--timeout",
        rare=True,
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        help="Cancel the run after this time and exit with 124.",
    ),
    grace_option,
    run_option(
        "--prefetch/--no-prefetch",
        rare=True,
        default=None,
        help="Whether to download the sources of later states while others run. Default: yes.",
    ),
    run_option(
        "--journal",
        rare=True,
        type=click.Choice(["on", "off", "required"]),
        help="Whether to keep the run in the journal, to resume and review it (on). "
        "required: do not start if it cannot be kept.",
    ),
    run_option(
        "--shuffle",
        rare=True,
        metavar="SEED",
        type=int,
        help="Start states in a random order that the requisites allow; the same SEED gives the same order. Shows "
        "which requisites are missing.",
    ),
)
"""Execution of a run."""

display_options: Callable[[Any], Any] = together(
    option(
        "--state-output",
        type=click.Choice([form + suffix for form in FORMS for suffix in ("", "_id")]),
        metavar="FORM",
        help="Detail in which each state is shown: brief, full, terse, mixed, changes or filter. brief (on a "
        "terminal): a line if it changed something, all of it if it failed; full: default elsewhere; terse: one line; "
        "mixed: full if it failed; changes: full if it failed or changed; filter: by state_output_exclude and "
        "state_output_terse of the configuration. Append _id to show IDs instead of names.",
    ),
    option(
        "--diff/--no-diff",
        "diffs",
        default=None,
        help="Show the diff of each file that changes, in a dry run also the content of new files. Default: yes "
        "for a dry run on a terminal, cut to its height, and with --state-output full.",
    ),
    option(
        "--state-verbose/--no-state-verbose",
        rare=True,
        default=None,
        help="Whether to show states that needed no change. Default: yes, but not if brief.",
    ),
)

outcome_options: Callable[[Any], Any] = together(
    option(
        "-q",
        "--quiet-ok",
        is_flag=True,
        callback=_hold,
        help="Print nothing if nothing changed or failed. For cron, which mails any output; data (--out json …) "
        "and files are written all the same.",
    ),
    option(
        "--detailed-exitcode",
        is_flag=True,
        help="Exit with 3 if something changed and nothing failed. In a dry run: if something would change.",
    ),
    option(
        "--junit",
        rare=True,
        type=click.Path(dir_okay=False),
        callback=_tell_console,
        help="Write the result to FILE as JUnit XML, for a CI server.",
    ),
)
"""Files about a run for programs, on this machine or of a fleet."""

report_options: Callable[[Any], Any] = together(
    display_options,
    option(
        "--out",
        default="human",
        type=click.Choice(["human", "github", "json", "jsonl", "yaml"]),
        metavar="FORMAT",
        callback=set_out,
        help="Output format: human (default), github, json, yaml or jsonl. github: as human and, in GitHub "
        "Actions, an annotation at the place of each failure; json or yaml: one object keyed by state tag, as in "
        "Salt but without the minion's name; jsonl: one event per line, as it happens.",
    ),
    option(
        "--progress",
        rare=True,
        default="auto",
        type=click.Choice(["auto", "live", "plain", "none"]),
        help="Show progress on standard error: a live display, or a line for each state that changed something, failed "
        "or took a second (plain). auto: live on a terminal; else plain, unless the answer is data or -q is given.",
    ),
    outcome_options,
    option(
        "--profile",
        is_flag=True,
        help="Show where the time went: before the run, the functions, the slowest states and the critical path. "
        "Also, how well the slots were used.",
    ),
    option(
        "--explain",
        rare=True,
        is_flag=True,
        help="Show for each state why it ran or not, how long it waited, and what it waited for last.",
    ),
    option(
        "--report",
        metavar="FILE.html",
        type=click.Path(dir_okay=False),
        callback=_page_file,
        help="Write the run as one HTML page. It shows when each state ran, what waits for what, and every diff, and "
        "needs no network.",
    ),
)
"""Content and destination of the report."""

_traces_option: Callable[[Any], Any] = option(
    "--traces",
    rare=True,
    type=click.Choice(["auto", "on", "off"]),
    help="Send a trace of the run to an OpenTelemetry collector: the one that OTEL_EXPORTER_OTLP_ENDPOINT names. "
    "auto: if there is such a variable. Default: traces of the configuration, auto. Needs the extra otel.",
)

metrics_option: Callable[[Any], Any] = option(
    "--metrics",
    rare=True,
    type=click.Path(dir_okay=False),
    callback=_tell_console,
    help="Write metrics of the run to FILE, for the textfile collector of Prometheus: exit code, time, and how many "
    "states changed or failed. Written also if the run could not begin.",
)


telemetry_options: Callable[[Any], Any] = together(metrics_option, _traces_option)
"""Facts about a run for services that watch over machines."""

driving_options: Callable[[Any], Any] = together(grace_option, outcome_options, telemetry_options)
"""For every command that drives a run to its end, and shows it in a form of its own."""

one_run_options: Callable[[Any], Any] = together(test_option, grace_option, report_options, telemetry_options)
"""For every command that makes one run on this machine, and shows it as apply does."""
