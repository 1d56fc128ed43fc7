"""Shell completion of ``salt-call`` command lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.cli.complete.values import (
    Called,
    beginning,
    complete_arguments,
    complete_id,
    complete_modules,
    complete_sls,
    complete_states,
)
from asyncstate.extras.dropin.options import CONFIG_DIR, WrongUsage, parse

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from asyncstate.extras.dropin.options import Request

_TAKE_SLS = frozenset(f"state.{name}" for name in "apply sls test show_sls show_low_sls sls_exists".split())


def complete_salt_call(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a line of ``salt-call``: a function, then the SLS, IDs or arguments that it takes."""
    try:
        request = parse([*(ctx.params.get("words") or ()), incomplete or "."])
    except WrongUsage:
        return []
    words = [request.function, *request.arguments][:-1]
    ctx.params |= _own_options(request)
    if not words:
        of_state = beginning((f"state.{name}" for name in _functions_of_state()), incomplete)
        return [*of_state, *complete_modules(ctx, param, incomplete)]
    function, *given = words
    if function in _TAKE_SLS:
        return complete_sls(ctx, param, incomplete)
    if function in {"state.sls_id", "state.id_exists"}:
        return complete_sls(ctx, param, incomplete) if given else complete_id(ctx, param, incomplete)
    if function == "state.single":
        if not given:
            return complete_states(ctx, param, incomplete)
        return complete_arguments(ctx, Called("states", given[0], given[1:]), incomplete)
    if function == "sys.doc":
        return complete_modules(ctx, param, incomplete)
    if function == "sys.state_doc":
        return complete_states(ctx, param, incomplete)
    return complete_arguments(ctx, Called("modules", function, given), incomplete)


def _functions_of_state() -> list[str]:
    from asyncstate.extras.dropin.showing import SHOWING
    from asyncstate.extras.dropin.states import RUNNING

    return sorted([*RUNNING, *SHOWING])


def _own_options(request: Request) -> dict[str, Any]:
    """Return the location of the tree as options of the other commands."""
    file = os.path.join(request.config_dir or os.environ.get("SALT_CONFIG_DIR") or CONFIG_DIR, "minion")
    return {
        "config": (file,) if os.path.isfile(file) else (),
        "file_root": tuple(("base", os.path.abspath(root)) for root in request.file_roots),
    }
