"""The rows of states: their tags, and putting them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import CommandExecutionError
from asyncstate.model.chunk import state_tag

if TYPE_CHECKING:
    from collections.abc import Mapping

_NONE_GIVEN = object()


def gen_tag(low: Mapping[str, Any]) -> str:
    """Return the key that the row of a low chunk has in ``running``."""
    return state_tag(low["state"], low["__id__"], low["name"], low["fun"])


def merge_subreturn(original_return: dict[str, Any], sub_return: dict[str, Any], subkey: str | None = None) -> Any:
    """Add the row of a part to the row of a whole, which is changed and returned.

    A failed part fails the whole; comments are joined; changes go under ``subkey``, by default the part's name.
    """
    if sub_return["result"] is False:
        original_return["result"] = False
    comments = sub_return["comment"] if isinstance(sub_return["comment"], list) else [sub_return["comment"]]
    before = original_return.setdefault("comment", [])
    if isinstance(before, list):
        before.extend(comments)
    else:
        original_return["comment"] = "\n".join([before] * bool(before) + comments)
    if sub_return["changes"]:
        changes = original_return.setdefault("changes", {})
        changes[subkey or sub_return["name"]] = sub_return["changes"]
    return original_return


def check_result(running: Any, recurse: bool = False, highstate: Any = None) -> bool:
    """Return whether no row of a run failed, nested runs included."""
    if not isinstance(running, dict) or not running:
        return False
    return all(
        _is_well(row, recurse=recurse, highstate=highstate, extend=key == "__extend__") for key, row in running.items()
    )


def _is_well(row: Any, *, recurse: bool, highstate: Any, extend: bool) -> bool:
    if not isinstance(row, dict):
        return recurse or (extend and isinstance(row, list))
    result = row.get("result", _NONE_GIVEN)
    if result is _NONE_GIVEN:
        return check_result(row, recurse=True, highstate=highstate)
    return result is not False


def get_sls_opts(opts: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Return a copy of the options with the given ``saltenv`` and ``pillarenv``, as ``lock_saltenv`` permits."""
    chosen = {**opts}
    if "saltenv" in kwargs:
        saltenv = kwargs["saltenv"]
        if saltenv is not None and chosen.get("lock_saltenv") and str(saltenv) != chosen.get("saltenv"):
            raise CommandExecutionError("lock_saltenv is enabled, saltenv cannot be changed")
        chosen["saltenv"] = saltenv
        if chosen.get("pillarenv_from_saltenv"):
            chosen["pillarenv"] = saltenv
    if "pillarenv" in kwargs:
        chosen["pillarenv"] = kwargs["pillarenv"]
    return chosen


__getattr__: ModuleGetattr = nothing_else(__name__)
