"""Merging of nested data: the strategies behind ``slsutil.merge``, ``pillar.get(merge=True)`` and ``dictupdate``.

`update` works in place, as its callers expect; all other functions return new data and do not change their arguments.
`merged` does for whole pillars what `merge` does, without copying them.
"""

from __future__ import annotations

import copy
import fnmatch
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from asyncstate.errors import InvocationError

log: logging.Logger = logging.getLogger(__name__)

Pillar = dict[str, Any]


def fresh(value: Any) -> Any:
    """Copy dicts and lists to any depth; share everything else. Ordered mappings stay ordered when printed."""
    if isinstance(value, dict):
        pairs = ((key, fresh(item)) for key, item in value.items())
        return OrderedDict(pairs) if isinstance(value, OrderedDict) else dict(pairs)
    if isinstance(value, list):
        return [fresh(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """Return the data in exactly the types that YAML writers know, instead of the subclasses of templates."""
    if isinstance(value, dict):
        return {str(key) if isinstance(key, str) else key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def update(dest: Any, upd: Any, recursive_update: bool = True, merge_lists: bool = False, strict: bool = False) -> Any:
    """Merge ``upd`` into ``dest`` and return ``dest``: mappings key by key, anything else replaced.

    ``merge_lists`` appends the missing items to a list; with ``strict`` a mapping for a list then raises TypeError.
    Raises TypeError if an argument is not a mapping.
    """
    if not isinstance(dest, Mapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    into: Any = dest
    for key, value in upd.items():
        before = into.get(key) if recursive_update else None
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            into[key] = update(before, value, merge_lists=merge_lists)
        elif merge_lists and isinstance(before, list) and isinstance(value, list):
            into[key] = copy.deepcopy(before) + [item for item in value if item not in before]
        elif strict and merge_lists and isinstance(before, list) and isinstance(value, Mapping):
            raise TypeError(f"the list under {key!r} cannot be updated with a mapping of {', '.join(map(str, value))}")
        else:
            into[key] = value
    return into


def merge_list(obj_a: Mapping[Any, Any], obj_b: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return both merged, with ``[value of the first, value of the second]`` for common keys."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_recurse(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:
    """Return both merged at every depth."""
    return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)


def merge_aggregate(obj_a: Any, obj_b: Any) -> Any:
    """Return both merged at the top level; below it, data without ``yamlex`` tags is replaced."""
    return {**obj_a, **obj_b}


def merge_overwrite(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:  # noqa: ARG001 - nothing is left to merge
    """Return both merged at the top level, where values of the second replace those of the first."""
    return {**copy.deepcopy(obj_a), **obj_b}


def merge(obj_a: Any, obj_b: Any, strategy: str = "smart", renderer: str = "yaml", merge_lists: bool = False) -> Any:
    """Return both merged, the second winning, by one of the strategies that `settled` returns."""
    strategy = settled(strategy, renderer)
    if strategy == "list":
        return merge_list(obj_a, obj_b)
    if strategy == "aggregate":
        return merge_aggregate(obj_a, obj_b)
    if strategy == "overwrite":
        return merge_overwrite(obj_a, obj_b)
    return merge_recurse(obj_a, obj_b, merge_lists=merge_lists and strategy == "recurse")


def settled(strategy: str, renderer: str) -> str:
    """Return the name of a strategy, with ``smart`` and unknown ones (logged) replaced.

    ``recurse`` merges mappings at every depth, ``none`` does so and never merges lists; ``overwrite`` and ``aggregate``
    replace top-level keys; ``list`` puts both values of a common key in a list. ``smart`` is ``recurse``, or
    ``aggregate`` under the yamlex renderer.
    """
    if strategy == "smart":
        is_yamlex = renderer.rpartition("|")[2] == "yamlex" or renderer.startswith("yamlex_")
        return "aggregate" if is_yamlex else "recurse"
    if strategy in {"recurse", "none", "overwrite", "aggregate", "list"}:
        return strategy
    log.warning("Unknown merging strategy '%s', fallback to recurse", strategy)
    return "none"


def overlaid(value: Any, merge: Any, *, merge_lists: bool = False) -> Any:
    """Return ``value`` with the mapping ``merge`` merged into it; ``value`` itself if ``merge`` is empty.

    Raises InvocationError if ``merge`` is not a mapping.
    """
    if not merge:
        return value
    if not isinstance(merge, Mapping):
        raise InvocationError("filter_by merge argument must be a dictionary.")
    return merge if value is None else update(fresh(value), fresh(merge), merge_lists=merge_lists)


def filter_by(
    lookup_dict: Mapping[Any, Any], value: Any, merge: Any = None, default: str = "default", base: str | None = None
) -> Any:
    """Return the entry of ``lookup_dict`` whose key, a shell pattern, matches ``value`` (or one of its items).

    If none matches, the entry ``default`` is used. The entry is merged into the entry ``base``, and ``merge`` into the
    result. The lookup data itself is never changed.
    """
    found = _lookup(lookup_dict, value)
    if found is None:
        found = lookup_dict.get(default)
    below = lookup_dict.get(base) if base else None
    if found is None:
        found = below
    elif isinstance(below, Mapping):
        if not isinstance(found, Mapping):
            raise InvocationError("filter_by default and look-up values must both be dictionaries.")
        found = update(copy.deepcopy(below), found)
    return overlaid(found, merge)


def _lookup(lookup_dict: Mapping[Any, Any], value: Any) -> Any:
    for item in value if isinstance(value, list) else [value]:
        for pattern, entry in lookup_dict.items():
            if entry is not None and fnmatch.fnmatchcase(str(item), str(pattern)):
                return entry
    return None


def merged(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Pillar:
    """Merge the pillar ``second`` over ``first`` by ``pillar_source_merging_strategy``; see `settled`.

    The keys are those of ``first`` in their order, then new ones; what only one has is shared with it. With
    ``merge_lists``, ``recurse`` adds to a list the items that it lacks; otherwise the later list replaces it.
    """
    strategy = settled(strategy, renderer)
    if strategy == "recurse":
        return merged_deeply(first, second, merge_lists)
    if strategy in {"aggregate", "overwrite"}:
        return {**first, **second}
    if strategy == "list":
        pairs = {key: [value, second[key]] if key in second else value for key, value in first.items()}
        return pairs | {key: value for key, value in second.items() if key not in first}
    return merged_deeply(first, second)


def merged_deeply(first: Mapping[str, Any], second: Mapping[str, Any], merge_lists: bool = False) -> Pillar:
    """Merge mappings at every level; any other value in ``second`` replaces the one in ``first``.

    The result is an OrderedDict if ``first`` is one: a template prints that in its order.
    """
    result = _copied(first)
    for key, value in second.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            result[key] = merged_deeply(before, value, merge_lists)
        elif merge_lists and isinstance(before, list) and isinstance(value, list):
            result[key] = _union(before, value)
        else:
            result[key] = value
    return result


def independent(data: Any, copies: dict[int, Any] | None = None) -> Any:
    """Return a copy that shares no dict and no list with ``data``. Objects that occur twice also do in the copy."""
    kind = type(data)
    if kind not in {dict, OrderedDict, list}:
        return data
    copies = {} if copies is None else copies
    known = copies.get(id(data))
    if known is not None:
        return known
    if kind is list:
        items = copies[id(data)] = []
        items += [independent(item, copies) for item in data]
        return items
    mapping: Pillar = OrderedDict() if kind is OrderedDict else {}
    copies[id(data)] = mapping
    mapping.update((key, independent(value, copies)) for key, value in data.items())
    return mapping


def _copied(data: Mapping[str, Any]) -> Pillar:
    return OrderedDict(data) if isinstance(data, OrderedDict) else dict(data)


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    union = list(first)
    for item in second:
        if item not in union:
            union.append(item)
    return union
