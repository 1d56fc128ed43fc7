"""Shell completion, in about 0.3 s: SLS names, IDs, functions, arguments, runs, hosts.

Each completion starts a process. So nothing here renders a tree, loads a plugin or imports the engine: names are read
from the text of files. A command imports `completes` only. Read in this order: ``shell`` (the request of a shell and
the answer), ``values`` (the completions of each argument and option), ``places`` (the tree and the plugins), ``tree``
and ``plugins`` (the names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import click
    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completes(what: str) -> Completer:
    """Return the ``shell_complete`` of an argument: ``values.complete_WHAT``, imported when a shell asks for it."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from asyncstate.cli.complete import values

        offered: list[CompletionItem] = getattr(values, f"complete_{what}")(ctx, param, incomplete)
        return offered

    return complete
