"""Shell completion of ``salt-call`` command lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import completes
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
        return [*_functions_of_state(incomplete), *completes("modules")(ctx, param, incomplete)]
    function, *given = words
    ctx.params["function"], *ctx.params["arguments"] = given if function == "state.single" and given else words
    return completes(_kind_of(function, given))(ctx, param, incomplete)


def _kind_of(function: str, given: list[str]) -> str:
    """Return what the word after a function and its arguments is."""
    if function in _TAKE_SLS:
        return "sls"
    if function in {"state.sls_id", "state.id_exists"}:
        return "sls" if given else "id"
    if function == "state.single":
        return "state_arguments" if given else "states"
    return {"sys.doc": "modules", "sys.state_doc": "states"}.get(function, "module_arguments")


def _functions_of_state(incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from asyncstate.extras.dropin.showing import SHOWING
    from asyncstate.extras.dropin.states import RUNNING

    names = sorted(f"state.{name}" for name in (*RUNNING, *SHOWING))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _own_options(request: Request) -> dict[str, Any]:
    """Return the location of the tree as options of the other commands."""
    file = os.path.join(request.config_dir or os.environ.get("SALT_CONFIG_DIR") or CONFIG_DIR, "minion")
    return {
        "config": (file,) if os.path.isfile(file) else (),
        "file_root": tuple(("base", os.path.abspath(root)) for root in request.file_roots),
    }
