"""``asyncstate show``: the compiled tree, in several forms. Nothing is run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Family, completes
from asyncstate.cli.options import compiled_options, tree_options, what_if_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.report.terminal import Palette


@click.group("show", cls=Family)
def command(console: Console, /) -> None:
    """Show what a tree compiles to; run nothing."""
    console.answers_with_data = True


@command.command(
    "lowstate",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate show lowstate web", "The states of an SLS in the order of a serial run."),
        ("asyncstate show lowstate --out json", "Low data as Salt's state.show_lowstate returns it."),
    ),
)
@compiled_options
def lowstate(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show every state in serial order and what it waits for.

    With --concurrency 1 states run in this order; otherwise it decides between states that are ready at the same time.
    SLS are names of SLS files; without names, those that top.sls assigns.
    """
    settings, selection = console.selected(sls, options)
    plan, _ = shown_plan(console, settings, selection)
    console.answer(partial(_order_lines, plan), plan.lowstate, redacted=True)


@command.command(
    "highstate",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate show highstate --out yaml", "All of the highstate, as rendered."),),
)
@compiled_options
def highstate(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show high data before extend and exclude are applied.

    High data has every ID of the SLS files and of those they include. SLS are names of SLS files; without names, those
    that top.sls assigns.
    """
    _show_high(console, sls, options)


@command.command(
    "sls",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate show sls web.conf", "What one SLS file and its includes render to."),),
)
@click.argument("sls", nargs=-1, required=True, shell_complete=completes("sls"))
@tree_options
@what_if_options
def sls_(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show what SLS files and their includes render to."""
    _show_high(console, sls, options)


@command.command(
    "top",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate show top --for-machine web1.yaml", "What top.sls would assign to another machine."),),
)
@tree_options
@what_if_options
def top(console: Console, /, **options: Any) -> None:
    """Show which SLS top.sls assigns to this machine, by environment."""
    settings = console.settings(options)
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        assigned = runtime.top_sync()
    if not assigned:
        console.complain("top.sls assigns nothing to this machine")
    console.tree(console.hide(assigned))


def shown_plan(
    console: Console, settings: Settings, selection: Selection, wanted: str | None = None
) -> tuple[Plan, list[int]]:
    """Return the redacted plan, and the numbers of the states in it with the ID or name ``wanted``."""
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        plan = runtime.compile_sync(**selection._asdict())
        return runtime.shown(plan), console.named(plan, wanted) if wanted is not None else []


def _show_high(console: Console, sls: tuple[str, ...], options: dict[str, Any]) -> None:
    from asyncstate.redact.no_log import hush_high
    from asyncstate.runtime import StateRuntime

    settings, selection = console.selected(sls, options)
    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        high = runtime.planner.high(selection.sls, saltenv=selection.saltenv, exclude=selection.exclude)
    console.tree(console.hide(hush_high(high.data)))


def _order_lines(plan: Plan, palette: Palette) -> Iterator[str]:
    """Yield a line per state: its number, function, ID and name, SLS, and the numbers of the states it waits for.

    A check has no number: a state that waits for one is shown with the states the check waits for.
    """
    from asyncstate.model.walk import ends
    from asyncstate.report.summary import describe_tag

    def has_no_number(node: int) -> bool:
        return node >= len(plan.chunks)

    labels = [describe_tag(chunk.tag) for chunk in plan.chunks]
    wide = min(max(map(len, labels), default=0), 60)
    sls_wide = max((len(chunk.sls) for chunk in plan.chunks), default=0)
    digits = len(str(len(labels)))
    for chunk, label in zip(plan.chunks, labels, strict=True):
        before = sorted(ends(plan.dag.predecessors(chunk.index), plan.dag.predecessors, has_no_number))
        after = f"  after {', '.join(str(number + 1) for number in before)}" if before else ""
        number = palette.paint(palette.dim, f"{chunk.index + 1:>{digits}}")
        yield f"{number}  {label:<{wide}}  {palette.paint(palette.cyan, f'{chunk.sls:<{sls_wide}}')}{after}".rstrip()
