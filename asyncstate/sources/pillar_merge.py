"""Merging of pillars by the strategies of ``pillar_source_merging_strategy``.

No argument is changed: each function returns a new mapping, with the keys of the first in their order, then new keys.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from asyncstate.data.merging import settled

if TYPE_CHECKING:
    from collections.abc import Mapping

Pillar = dict[str, Any]


def merge(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Pillar:
    """Merge ``second`` over ``first`` by a strategy; see `settled`.

    With ``merge_lists``, ``recurse`` adds to a list the items that it lacks; otherwise the later list replaces it.
    """
    strategy = settled(strategy, renderer)
    if strategy == "recurse":
        return merge_recurse(first, second, merge_lists)
    if strategy in {"aggregate", "overwrite"}:
        merged = _copied(first)
        merged.update(second)
        return merged
    if strategy == "list":
        pairs = {key: [value, second[key]] if key in second else value for key, value in first.items()}
        return pairs | {key: value for key, value in second.items() if key not in first}
    return merge_recurse(first, second)


def merge_recurse(first: Mapping[str, Any], second: Mapping[str, Any], merge_lists: bool = False) -> Pillar:
    """Merge mappings at every level; any other value in ``second`` replaces the one in ``first``.

    The result is an OrderedDict if ``first`` is one: a template prints that in its order.
    """
    merged = _copied(first)
    for key, value in second.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = merge_recurse(before, value, merge_lists)
        elif merge_lists and isinstance(before, list) and isinstance(value, list):
            merged[key] = _union(before, value)
        else:
            merged[key] = value
    return merged


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
