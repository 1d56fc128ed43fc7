"""Merging dicts, and setting values at colon paths."""

from __future__ import annotations

import copy
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from asyncstate.data.collection import (
    append_dict_key_value,
    extend_dict_key_value,
    set_dict_key_value,
    update_dict_key_value,
)
from asyncstate.salt_compat.namespace import ModuleGetattr, nothing_else

__all__ = [
    "append_dict_key_value",
    "ensure_dict_key",
    "extend_dict_key_value",
    "merge",
    "merge_aggregate",
    "merge_list",
    "merge_overwrite",
    "merge_recurse",
    "set_dict_key_value",
    "update",
    "update_dict_key_value",
]

log: logging.Logger = logging.getLogger(__name__)


def update(dest: Any, upd: Any, recursive_update: bool = True, merge_lists: bool = False, strict: bool = False) -> Any:
    """Merge ``upd`` into ``dest`` and return it: mappings key by key, anything else replaced.

    ``merge_lists`` appends what a list has not; ``strict`` then refuses a mapping for a list. Raises TypeError.
    """
    if not isinstance(dest, Mapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    into: Any = dest
    for key, value in upd.items():
        before = into.get(key) if recursive_update else None
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            into[key] = update(before, value, merge_lists=merge_lists)
        elif merge_lists and isinstance(before, list) and isinstance(value, list):
            into[key] = _union(before, value)
        elif strict and merge_lists and isinstance(before, list) and isinstance(value, Mapping):
            raise TypeError(f"the list under {key!r} cannot be updated with a mapping of {', '.join(map(str, value))}")
        else:
            into[key] = value
    return into


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    union = copy.deepcopy(first)
    union += [item for item in second if item not in union]
    return union


def merge_list(obj_a: Mapping[Any, Any], obj_b: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the first with ``[its value, the other's]`` for keys of both."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_recurse(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:
    """Return both merged at every depth."""
    return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)


def merge_aggregate(obj_a: Any, obj_b: Any) -> Any:
    """Return both merged at the top: data that carries no marks of ``yamlex`` is replaced below."""
    return {**obj_a, **obj_b}


def merge_overwrite(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:  # noqa: ARG001 - nothing is left to merge
    """Return both, the values of the second in the place of the first's."""
    return {**copy.deepcopy(obj_a), **obj_b}


def merge(obj_a: Any, obj_b: Any, strategy: str = "smart", renderer: str = "yaml", merge_lists: bool = False) -> Any:
    """Return both merged by a strategy: ``smart``, ``recurse``, ``aggregate``, ``overwrite``, ``list`` or ``none``."""
    if strategy == "smart":
        is_yamlex = renderer.rpartition("|")[2] == "yamlex" or renderer.startswith("yamlex_")
        strategy = "aggregate" if is_yamlex else "recurse"
    if strategy == "list":
        return merge_list(obj_a, obj_b)
    if strategy == "aggregate":
        return merge_aggregate(obj_a, obj_b)
    if strategy == "overwrite":
        return merge_overwrite(obj_a, obj_b)
    if strategy not in {"recurse", "none"}:
        log.warning("Unknown merging strategy '%s', fallback to recurse", strategy)
    return merge_recurse(obj_a, obj_b, merge_lists=merge_lists and strategy == "recurse")


def ensure_dict_key(in_dict: Any, keys: str, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Make the dicts on the way to ``a:b:c``, that one too; returns the dict, which is changed."""
    here = in_dict
    for key in keys.split(delimiter):
        if not isinstance(here.get(key), dict):
            here[key] = OrderedDict() if ordered_dict else {}
        here = here[key]
    return in_dict


__getattr__: ModuleGetattr = nothing_else(__name__)
