"""The ``match`` execution module: whether a target matches this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import dunders
from asyncstate.data import merging
from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__func_alias__ = {"list_": "list"}


def compound(tgt: Any, minion_id: str | None = None) -> bool:
    """Match a compound target, such as ``G@os:Debian and web*``."""
    return _match("compound", tgt, minion_id)


def glob(tgt: str, minion_id: str | None = None) -> bool:
    """Match the id by a shell pattern."""
    return _match("glob", tgt, minion_id)


def pcre(tgt: str, minion_id: str | None = None) -> bool:
    """Match the beginning of the id by a regular expression."""
    return _match("pcre", tgt, minion_id)


def list_(tgt: str | list[str], minion_id: str | None = None) -> bool:
    """Match the id by a list, or a comma-separated string, of ids."""
    return _match("list", tgt, minion_id)


def grain(tgt: str, delimiter: str = ":") -> bool:
    """Match a grain, ``path:value``, by a shell pattern."""
    return _match("grain", tgt, delimiter=delimiter)


def grain_pcre(tgt: str, delimiter: str = ":") -> bool:
    """Match a grain, ``path:value``, by a regular expression."""
    return _match("grain_pcre", tgt, delimiter=delimiter)


def pillar(tgt: str, delimiter: str = ":") -> bool:
    """Match a pillar value, ``path:value``, by a shell pattern."""
    return _match("pillar", tgt, delimiter=delimiter)


def pillar_pcre(tgt: str, delimiter: str = ":") -> bool:
    """Match a pillar value, ``path:value``, by a regular expression."""
    return _match("pillar_pcre", tgt, delimiter=delimiter)


def ipcidr(tgt: str) -> bool:
    """Match an address of this machine by an address or a network."""
    return _match("ipcidr", tgt)


def data(tgt: str) -> bool:
    """Never match: there is no minion data store."""
    return False


def filter_by(
    lookup: Mapping[Any, Any],
    tgt_type: str = "compound",
    minion_id: str | None = None,
    merge: Mapping[Any, Any] | None = None,
    merge_lists: bool = False,
    default: Any = "default",
) -> Any:
    """Return the value of the first target in ``lookup`` that matches, overridden by ``merge``; else the default's."""
    for target, value in lookup.items():
        if not _match(tgt_type, target, minion_id):
            continue
        return merging.overlaid(value, merge, merge_lists=merge_lists)
    return lookup.get(default)


def ifelse(
    *args: Any,
    tgt_type: str = "compound",
    minion_id: str | None = None,
    merge: Mapping[Any, Any] | None = None,
    merge_lists: bool = False,
) -> Any:
    """Return the value after the first condition that holds (a bool or a target), else the last argument.

    ``merge`` overrides only the value of a condition.
    """
    if len(args) % 2 == 0:
        raise InvocationError("The ifelse function must have an odd number of arguments!")
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if condition is True or (condition is not False and _match(tgt_type, condition, minion_id)):
            return merging.overlaid(value, merge, merge_lists=merge_lists)
    return args[-1]


def search_by(
    lookup: Mapping[Any, list[Any]], tgt_type: str = "compound", minion_id: str | None = None
) -> list[Any] | None:
    """Return the key of each listed target that matches, once for each such target; None if none matches."""
    found = [key for key, targets in lookup.items() for target in targets if _match(tgt_type, target, minion_id)]
    return found or None


def _match(kind: str, tgt: Any, minion_id: Any = None, delimiter: str | None = None) -> bool:
    minion = None if minion_id is None else str(minion_id)
    return dunders.runtime_services().match(kind, tgt, minion_id=minion, delimiter=delimiter)
