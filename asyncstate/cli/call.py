"""``asyncstate call``: call one execution module function and print what it returns."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command, option
from asyncstate.cli.options import config_options
from asyncstate.cli.settings import COMMANDS, split_arguments
from asyncstate.errors import AsyncStateError, CommandExecutionError, FunctionNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings


_LOOKING_UP = frozenset({"get", "item", "fetch"})


@new_command(
    "call",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate call test.ping", "Does asyncstate work here?"),
        ("asyncstate call cmd.run 'ls *.sls' cwd=/srv/salt", "A command, with a keyword argument."),
        ("asyncstate call pillar.items --pillar-root ./pillar --out json", "The pillar of this machine."),
        ("asyncstate call grains.item os osrelease", "Two grains."),
    ),
)
@click.argument("function", metavar="MOD.FUN", shell_complete=completes("modules"))
@click.argument("arguments", nargs=-1, metavar="[VALUE|KEY=VALUE]...", shell_complete=completes("module_arguments"))
@config_options
@option(
    "--show-secrets",
    is_flag=True,
    help="Print the return value unredacted, including decrypted values and passwords in URLs.",
)
def command(
    console: Console, /, function: str, arguments: tuple[str, ...], *, show_secrets: bool, **options: Any
) -> None:
    """Call one execution module function and print what it returns.

    Values are YAML, as for single. Put -- before values that begin with a dash. Secrets are hidden unless you ask for
    them with --show-secrets.
    """
    console.answers_with_data = True
    positional, keywords = split_arguments(arguments)
    settings = console.settings(options)
    try:
        value = console.run(lambda: _call(console, settings, function, positional, keywords), settings.event_loop)
    except FunctionNotFound as error:
        if error.name == function and function in COMMANDS:
            message = f"{function} is a command here, not a function: asyncstate {COMMANDS[function]}"
            as_salt = f"As Salt writes it: asyncstate salt-call {function}"
            raise click.UsageError(f"{message}. {as_salt}") from error
        if "." not in function.strip(".") and not error.suggestion:
            listed = f"asyncstate doc {function.strip('.')} lists the functions of a module"
            raise click.UsageError(f"{function!r} names no function: write MODULE.FUNCTION. {listed}.") from error
        raise
    except AsyncStateError:
        raise
    except Exception as error:
        if console.debug:
            console.say(*"".join(traceback.format_exception(error)).splitlines())
        raise CommandExecutionError(f"{function} raised {type(error).__name__}: {error}") from error
    value, hint = value
    if hint:
        console.say(hint)
    if not show_secrets:
        value = console.hide(value)
    console.tree(value)


async def _call(
    console: Console, settings: Settings, function: str, positional: list[Any], keywords: dict[str, Any]
) -> tuple[Any, str]:
    """Return the result of the function, and a hint if it looked up a key that does not exist."""
    from asyncstate.runtime import StateRuntime

    async with StateRuntime(settings, secrets=console.secrets) as runtime:
        value = await runtime.call(function, *positional, **keywords)
        data = {"grains": runtime.host.grains, "pillar": runtime.host.pillar}.get(function.partition(".")[0], {})
        keys = positional if function.endswith(".item") else positional[:1]  # what follows the key is its default
        return value, next(filter(None, (_nearest_key(function, key, data) for key in keys)), "")


def _nearest_key(function: str, key: Any, data: Mapping[Any, Any]) -> str:
    """Return a hint for a key that is missing from grains or pillar, with the nearest key; "" for an existing key."""
    module, _, name = function.partition(".")
    first = str(key).partition(":")[0]
    if name not in _LOOKING_UP or not data or first in data:
        return ""
    from asyncstate.nearest import nearest

    near = nearest(first, map(str, data))
    return f"there is no '{first}' in the {module}" + (f"; did you mean '{near}'?" if near else "")
