"""``asyncstate single``: run one state function, without an SLS file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command
from asyncstate.cli.options import config_options, one_run_options, wait_option
from asyncstate.cli.settings import fold_keywords, split_arguments

if TYPE_CHECKING:
    from asyncstate.cli.console import Console

_KEYWORDS = ("test", "pillar", "saltenv", "pillarenv")


@new_command(
    "single",
    examples=(
        ("asyncstate single file.managed name=/etc/motd contents='Hello' mode='0644'", "Manage one file."),
        ("asyncstate single pkg.installed vim --test", "Would vim be installed? A value without a key is the name."),
        ("asyncstate single cmd.run 'make install' cwd=/srv/app creates=/usr/local/bin/app", "Run it only if needed."),
    ),
)
@click.argument("function", metavar="STATE.FUN", shell_complete=completes("states"))
@click.argument("arguments", nargs=-1, metavar="[NAME] [KEY=VALUE]...", shell_complete=completes("state_arguments"))
@config_options
@one_run_options
@wait_option
def command(console: Console, /, function: str, arguments: tuple[str, ...], **options: Any) -> int:
    """Run one state function, without an SLS file.

    Values are YAML: numbers, booleans, '[a, b]' and '{k: v}' are not text. Quote a value twice to keep it text
    (mode="'0644'").
    """
    positional, keywords = split_arguments(fold_keywords(arguments, options, _KEYWORDS))
    if len(positional) > 1:
        raise click.UsageError(f"only the name may be given without a key; what is {positional[1]!r}?")
    if positional:
        if "name" in keywords:
            raise click.UsageError(f"the name is given twice: {positional[0]!r} and name={keywords['name']!r}")
        keywords = {"name": positional[0], **keywords}
    settings = console.settings(options)
    from asyncstate.cli.session import Session

    return Session(console, settings, options).single(function, keywords)
