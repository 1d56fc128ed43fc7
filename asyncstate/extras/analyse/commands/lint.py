"""``asyncstate lint``: states that keep their order without a requisite, and probable mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.cli.options import compiled_options
from asyncstate.errors import CompileError
from asyncstate.model.rules import RULES
from asyncstate.nearest import nearest
from asyncstate.redact import MASK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.cli.console import Console
    from asyncstate.cli.settings import Selection
    from asyncstate.extras.analyse.lint import Finding
    from asyncstate.extras.analyse.patch import ByHand
    from asyncstate.model.plan import Plan
    from asyncstate.runtime import StateRuntime

_ORDERS = frozenset({"footprint-order", "definition-order"})


def _rules(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    """Read rules, separated by commas or given one by one. Raises BadParameter, which names the nearest rule."""
    rules = {rule.strip() for value in values for rule in value.split(",")} - {""}
    for rule in sorted(rules - RULES.keys()):
        near = nearest(rule, RULES)
        hint = f"Did you mean {near!r}?" if near else "See: asyncstate lint --rules"
        raise click.BadParameter(f"there is no rule {rule!r}. {hint}")
    return frozenset(rules)


@new_command(
    "lint",
    forms=("human", "github", "json", "yaml"),
    examples=(
        ("asyncstate lint --file-root ./salt", "The highstate of a checkout."),
        ("asyncstate lint web --fix-diff | patch -p1 -d /", "Write the missing requisites into the files."),
        ("asyncstate lint --strict --out json", "For a commit hook: exit code 2 if there are findings."),
        ("asyncstate lint --ignore unknown-effects,unused-pillar", "All but two rules."),
    ),
)
@compiled_options
@option("--strict", is_flag=True, help="Exit with 2 if there are findings.")
@option(
    "--select",
    "select_rules",
    metavar="RULES",
    offers="rules",
    multiple=True,
    callback=_rules,
    help="Apply these rules only; repeatable.",
)
@option(
    "--ignore",
    "ignore_rules",
    metavar="RULES",
    offers="rules",
    multiple=True,
    callback=_rules,
    help="Apply all rules except these; repeatable.",
)
@option("--rules", is_flag=True, help="List the rules and exit.")
@option(
    "--fix-diff",
    is_flag=True,
    help="Print a unified diff that adds the missing requisites, instead of the findings.",
)
def command(
    console: Console,
    /,
    sls: tuple[str, ...],
    *,
    strict: bool,
    fix_diff: bool,
    select_rules: frozenset[str],
    ignore_rules: frozenset[str],
    rules: bool,
    **options: Any,
) -> int:
    """Find states that keep their order without a requisite, and probable mistakes.

    Findings are states that keep their order only because they touch the same file, service … or because of their
    order in a file, states with unknown effects, the mistakes that check finds, and pillar keys that no SLS file reads.
    Nothing is run. A comment "# asyncstate: ignore[RULE]" in a line of an SLS file, or above it, silences a rule there.
    Exit code 0: the tree compiles (with --strict: without findings), 1: it does not compile, 2: findings (with
    --strict).
    """
    if rules:
        _list_rules(console)
        return 0
    console.codes = True
    settings, selection = console.selected(sls, options)
    from asyncstate import extend
    from asyncstate.extras.analyse.lint import lint_data, lint_lines, one_for_each_place
    from asyncstate.extras.analyse.tree_findings import tree_findings
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        if (judge := extend.offered("judge")) is not None:
            judge(runtime)
        pillar = runtime.planner.watch_pillar()
        plan = runtime.compile_sync(**selection._asdict())
        plan = runtime.shown(plan)
        # A part of a tree reads only a part of the pillar.
        whole = selection.sls is None and not selection.ids and not selection.exclude
        wanted = (select_rules or RULES.keys()) - ignore_rules
        findings = tree_findings(plan, settings, pillar.unused() if whole else [], rules=wanted, read=_text_of)
        if fix_diff:
            _fix(console, _Trial(runtime, selection, plan), plan, findings)
            return 2 if strict and findings else 0
    shown = one_for_each_place(findings)
    if console.for_people:
        console.lines(lint_lines(plan, shown, console.palette()))
        if console.out == "github":
            from asyncstate.report.github import annotation

            console.lines(
                annotation("warning", each.message, each.file, each.line, f"{each.rule} [{each.code}]")
                for each in shown
            )
    else:
        console.data(lint_data(plan, shown))
    return 2 if strict and findings else 0


def _list_rules(console: Console) -> None:
    if console.for_people:
        width = max(map(len, RULES))
        console.lines(f"{rule:{width}}  {what}" for rule, what in RULES.items())
    else:
        console.data(RULES)


class _Trial:
    """Compiles a tree again with other texts for some files, to find out if a change is safe."""

    def __init__(self, runtime: StateRuntime, selection: Selection, plan: Plan) -> None:
        self._runtime = runtime
        self._selection = selection
        self._plan = plan
        self._alone: dict[str, bool] = {}

    def objection(self, texts: Mapping[str, str]) -> str:
        """Return why the tree, or one of its SLS alone, would not compile to the same states; "" if it would."""
        try:
            changed = self._runtime.compile_sync(**self._selection._asdict(), texts=texts)
        except CompileError as error:
            return error.issues[0].message.partition("\n")[0]
        if {chunk.tag for chunk in changed.chunks} != {chunk.tag for chunk in self._plan.chunks}:
            return "it would have other states"
        for sls, env in dict.fromkeys((chunk.sls, chunk.env) for chunk in self._plan.chunks if chunk.file in texts):
            if self._alone.setdefault(sls, self._compiles(sls, env, None)) and not self._compiles(sls, env, texts):
                return f"SLS '{sls}' would not compile by itself"
        return ""

    def _compiles(self, sls: str, env: str, texts: Mapping[str, str] | None) -> bool:
        try:
            self._runtime.compile_sync([sls], saltenv=env, texts=texts)
        except CompileError:
            return False
        return True


def _fix(console: Console, trial: _Trial, plan: Plan, findings: list[Finding]) -> None:
    from asyncstate.extras.analyse.patch import requisite_patch

    nameable = [finding for finding in findings if finding.missing < 0 or MASK not in plan.chunks[finding.missing].id]
    diff, left = requisite_patch(plan, nameable, _text_of, trial.objection)
    console.write(diff, data=True)
    by_place: dict[tuple[str, int], list[ByHand]] = {}
    for by_hand in left:
        by_place.setdefault((by_hand.finding.file, by_hand.finding.line), []).append(by_hand)
    for (file, line), here in by_place.items():
        more = f" (and {len(here) - 1} more declared in this line)" if len(here) > 1 else ""
        console.say(f"{file}:{line}: {here[0].what}{more}")
    for finding in findings:
        if finding.rule in _ORDERS and (finding.missing < 0 or finding not in nameable):
            console.say(f"{finding.file}:{finding.line}: add this by hand: {finding.message}")


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
