"""``asyncstate plan``: a dry run of ``apply``, under its name in other tools."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli import apply
from asyncstate.cli.framework import new_command
from asyncstate.cli.settings import keyword, truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console


class _Format(click.Choice[str]):
    """The formats of ``--out``; in other tools the option names the file of the plan."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return a message with the formats, and with the option that saves a plan."""
        return f"{super().get_invalid_choice_message(value, ctx)} To save the plan in a file: --plan-out FILE."


_OF_REAL_RUNS = frozenset({"test", "resume", "force", "trace_effects", "races"})
"""Options of ``apply`` that a dry run refuses or implies."""


def parameters(*unseen: str) -> Iterator[click.Parameter]:
    """Yield the parameters of ``apply`` except the general options, which `Command` adds.

    Those of real runs and the ``unseen`` ones are accepted, but absent from the help.
    """
    for parameter in apply.command.params:
        if parameter.name == "out" and isinstance(parameter.type, click.Choice):
            own = copy(parameter)
            own.type = _Format(parameter.type.choices)
            yield own
        elif parameter.name in {*_OF_REAL_RUNS, *unseen} and isinstance(parameter, click.Option):
            hidden = copy(parameter)
            hidden.hidden = True
            yield hidden
        elif parameter.expose_value:
            yield parameter


@new_command(
    "plan",
    params=list(parameters()),
    examples=(
        ("asyncstate plan", "What the highstate would change on this machine."),
        ("asyncstate plan web db --state-output full", "Two SLS files; each change is shown as a diff."),
        ("asyncstate plan web --plan-out web.plan", "Save what would be done, for a review."),
        ("asyncstate apply --plan web.plan", "Do exactly what was reviewed, or say what has changed since."),
        ("asyncstate plan -q --detailed-exitcode", "Exit with 3 if something would change, and say so; else be quiet."),
    ),
)
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Show what apply would do, without changing anything: a dry run.

    Takes what apply takes; apply --test is the same. The last line counts the states that would change
    something, those that only the changes of others would trigger, and those that a dry run cannot foretell.
    """
    return dry_run(console, sls, options, "plan never changes anything. To do what it says: asyncstate apply")


def dry_run(console: Console, sls: tuple[str, ...], options: dict[str, Any], refusal: str) -> int:
    """Run ``apply --test``; return the exit code. Raises UsageError, ``refusal``, if a real run is asked for."""
    words = [pair for word in sls if (pair := keyword(word)) and pair[0] == "test"]
    if options["test"] is False or not all(truth(*pair) for pair in words):
        raise click.UsageError(refusal)
    options["test"] = True
    return apply.apply(console, sls, options)
