"""``asyncstate show aggregate``: the states that share a call, and why others do not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.cli.options import compiled_options
from asyncstate.cli.show import shown_plan

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "aggregate",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate show aggregate web", "Which states of an SLS one call of the package manager installs."),),
)
@compiled_options
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show which states are aggregated, and why the others are not.

    States of one module are aggregated if state_aggregate of the configuration or their own aggregate is set, and no
    requisite or order separates them. If neither is set, package states that wait for nothing in between are installed
    in one transaction, each with its own place and row.
    """
    settings, selection = console.selected(sls, options)
    from asyncstate.extras.analyse.aggregate import aggregation, aggregation_lines

    plan, _ = shown_plan(console, settings, selection)
    console.answer(partial(aggregation_lines, plan), lambda: aggregation(plan))
