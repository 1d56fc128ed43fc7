"""``asyncstate check``: compile a tree and report every mistake; run nothing."""

from __future__ import annotations

import copy
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.cli.options import compiled_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.cli.console import Console
    from asyncstate.errors import Issue
    from asyncstate.model.plan import Plan
    from asyncstate.report.terminal import Palette
    from asyncstate.runtime import StateRuntime

_READS_PILLAR = re.compile(r"pillar|config|defaults|\{%[-+]?\s*(?:from|import|include|extends)\b")
"""Matches an SLS that may read the pillar, itself or through another file."""


@new_command(
    "check",
    forms=("human", "github", "json", "yaml"),
    examples=(
        ("asyncstate check --file-root ./salt --pillar-root ./pillar", "The highstate of a checkout."),
        ("asyncstate check web db --for-machine db1.yaml", "Two SLS files, as another machine would see them."),
        ("asyncstate check --out json", "For a commit hook: a JSON list of errors and exit code 1, or a summary."),
    ),
)
@compiled_options
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Compile a tree and report every mistake; run nothing.

    Mistakes are whatever does not compile, and whatever would make a state fail: a function, an argument or a source
    that does not exist, a value that its argument cannot have. It says which states are bundled, borrowed from Salt,
    your own or missing, unless all are bundled. Templates are rendered, so the execution modules that they call do run.
    Exit code 0: no mistakes, 1: mistakes.
    """
    console.codes = True
    settings, selection = console.selected(sls, options)
    from msgspec import structs

    from asyncstate import extend
    from asyncstate.compile.findings import mistakes
    from asyncstate.config.without_effect import folders_without_effect
    from asyncstate.errors import CompileError
    from asyncstate.redact.redacted_plan import RedactedPlan
    from asyncstate.report.issues import warning_lines
    from asyncstate.report.origins import origin_line, origins
    from asyncstate.runtime import StateRuntime

    judge = extend.offered("judge")

    def compiled(runtime: StateRuntime) -> tuple[Plan, Iterable[Issue]]:
        of_settings = () if judge is None else judge(runtime)
        return runtime.compile_sync(**selection._asdict()), of_settings

    opened = StateRuntime(settings, secrets=console.secrets)
    with _past_broken_pillar(opened, compiled), opened.open_sync() as runtime:
        plan, named_in_settings = compiled(runtime)
        plan = structs.replace(plan, digest=RedactedPlan(plan, runtime.secrets).digest)
        of_settings = (*folders_without_effect(settings), *named_in_settings)
        plan = structs.replace(plan, warnings=(*of_settings, *plan.warnings))
        whose = origins(plan, runtime.host.loaders["states"])
    found = mistakes(plan.warnings)
    if console.out == "github":
        from asyncstate.report.github import issue_annotations

        console.lines(issue_annotations("warning", [issue for issue in plan.warnings if not issue.mistake]))
    if found:
        if console.for_people:
            others = [issue for issue in plan.warnings if not issue.mistake]
            console.say(*warning_lines(others, console.palette(sys.stderr)), *filter(None, [origin_line(whose)]))
        raise CompileError(found)
    if console.for_people:
        console.lines(_summary(plan, console.palette(), origin_line(whose)))
        console.say(*warning_lines(plan.warnings, console.palette(sys.stderr)))
    else:
        console.data(_facts(plan) | {"origins": whose})


@contextmanager
def _past_broken_pillar(
    opened: StateRuntime, compiled: Callable[[StateRuntime], tuple[Plan, Iterable[Issue]]]
) -> Iterator[None]:
    """Add to the issues of a broken pillar the mistakes in files that do not read the pillar."""
    from asyncstate.compile.findings import mistakes
    from asyncstate.compile.ordering import OF_MISSING_STATES
    from asyncstate.errors import CompileError, PillarError
    from asyncstate.runtime import StateRuntime

    def reads(path: str) -> bool:
        text = opened.file_client.read(path).decode(errors="replace") if path else ""
        return not text or _READS_PILLAR.search(text) is not None

    try:
        yield
    except PillarError as error:
        with opened.secrets.kept_out_of_errors():
            try:
                other = copy.copy(opened.settings)
                other.pillar_roots, other.pillar = {}, dict(error.rendered)
                with StateRuntime(other, secrets=opened.secrets).open_sync() as runtime:
                    found = mistakes(compiled(runtime)[0].warnings)
            except CompileError as of_tree:
                found = list(of_tree.issues)
            alone = [each for each in found if each.code not in OF_MISSING_STATES and not reads(each.file)]
            raise PillarError([*error.issues, *alone]) from None


def _facts(plan: Plan) -> dict[str, Any]:
    return {
        "ok": True,
        "states": len(plan.chunks),
        "sls": sorted({chunk.sls for chunk in plan.chunks}),
        "digest": plan.digest,
        "unknown_effects": len(plan.unknown),
        "warnings": [issue._asdict() for issue in plan.warnings],
    }


def _summary(plan: Plan, palette: Palette, whose: str) -> Iterator[str]:
    from asyncstate.report.edges import family_of, plan_edges
    from asyncstate.report.issues import unknown_lines
    from asyncstate.report.terminal import count

    facts = _facts(plan)
    yield palette.paint(palette.green, "OK: ") + (
        f"{count(facts['states'], 'state')} in {count(len(facts['sls']), 'SLS file')}, "
        f"{count(len(plan.warnings), 'warning')}."
    )
    yield from (f"    {line}" for line in (*filter(None, [whose]), *unknown_lines(plan)))
    families: dict[str, int] = {}
    for _, _, sources, _ in plan_edges(plan):
        family = family_of(sources)
        families[family] = families.get(family, 0) + 1
    if families:
        kinds = ", ".join(f"{number} {family}" for family, number in sorted(families.items()))
        longest, _ = plan.dag.critical_path([float(number < len(plan.chunks)) for number in range(len(plan.nodes))])
        edges = count(sum(families.values()), "edge")
        yield f"    {edges} ({kinds}); the longest chain has {count(int(longest), 'state')}."
