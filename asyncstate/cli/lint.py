"""``asyncstate lint``: what of a tree's order nobody wrote down, and what else looks like a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Command, option
from asyncstate.cli.options import data_option, selection_options, tree_options, what_if_options
from asyncstate.cli.selection import complete_sls, select
from asyncstate.redact.redactor import MASK

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.report.lint import Finding


@click.command(
    "lint",
    cls=Command,
    examples=(
        ("asyncstate lint --file-root ./salt", "The highstate of a checkout."),
        ("asyncstate lint web --fix-diff | patch -p1 -d /", "Write the missing requisites into the files."),
        ("asyncstate lint --strict --out json", "For a commit hook: exit code 2 if there is anything to say."),
    ),
)
@click.argument("sls", nargs=-1, shell_complete=complete_sls)
@tree_options
@selection_options
@what_if_options
@option("--strict", section="Output", is_flag=True, help="Exit with 2 if there are findings.")
@option(
    "--fix-diff",
    section="Output",
    is_flag=True,
    help="Print a unified diff that adds the missing requisites, in place of the findings.",
)
@data_option("human", "json", "yaml")
@click.pass_obj
def command(console: Console, /, sls: tuple[str, ...], strict: bool, fix_diff: bool, **options: Any) -> int:
    """Find states whose order nobody wrote down, and probable mistakes.

    These are states that keep their order only because they touch the same thing or stand in that order in a file,
    states with unknown effects, references to nothing, and pillar keys that no SLS file looks at. Nothing is run. Exit
    code 0: it compiles (with --strict: and there are no findings), 1: it does not compile, 2: findings, with --strict.
    """
    settings, selection = select(console, sls, options)
    from asyncstate.report.lint import lint, lint_data, lint_lines
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        pillar = runtime.watch_pillar()
        plan = runtime.compile_sync(
            selection.sls, saltenv=selection.saltenv, exclude=selection.exclude, ids=selection.ids
        )
        plan = runtime.shown(plan)
        # A part of a tree looks at a part of the pillar.
        whole = selection.sls is None and not selection.ids and not selection.exclude
        unused = pillar.unused() if whole else []
    findings = lint(plan, _places(settings, unused))
    if fix_diff:
        _fix(console, plan, findings)
    elif console.out == "human":
        console.lines(lint_lines(plan, findings, console.palette()))
    else:
        console.data(lint_data(plan, findings))
    return 2 if strict and findings else 0


def _places(settings: Settings, keys: list[str]) -> dict[str, tuple[str, int]]:
    """Find where pillar files have a key at the left margin: file and line, "" and 0 where they do not."""
    from asyncstate.sources.fileclient import LocalFileClient

    found: dict[str, tuple[str, int]] = dict.fromkeys(keys, ("", 0))
    client = LocalFileClient.from_opts(settings.opts(), "pillar_roots")
    files = [(env, file) for env in client.envs() for file in client.list_files(env) if file.endswith(".sls")]
    for env, file in files if keys else ():
        path = client.find(file, env)
        for number, line in enumerate(client.read(path).splitlines() if path else (), 1):
            key = line.split(b":")[0].strip(b"'\"").decode(errors="replace")
            if path and found.get(key) == ("", 0):
                found[key] = (path, number)
    return found


def _fix(console: Console, plan: Plan, findings: list[Finding]) -> None:
    from asyncstate.report.requisite_patch import requisite_patch

    nameable = [finding for finding in findings if finding.missing < 0 or MASK not in plan.chunks[finding.missing].id]
    diff, left = requisite_patch(plan, nameable, lambda path: Path(path).read_text(encoding="utf-8"))
    left += [finding for finding in findings if finding not in nameable]
    console.write(diff)
    console.say(*(f"{finding.file}:{finding.line}: to be written by hand: {finding.message}" for finding in left))
