"""Merging pillars: the strategies of ``pillar_source_merging_strategy``.

Nothing is changed in place: each function returns a new mapping, in the key order of the first, then new keys.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

Pillar = dict[str, Any]


def merge(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Pillar:
    """Merge ``second`` over ``first``.

    ``recurse`` merges mappings at every level; lists replace each other, or with ``merge_lists`` grow by what they
    lack. ``aggregate`` and ``overwrite`` take top-level keys whole. ``list`` puts the two values of a key in a list.
    ``smart`` is ``recurse`` (``aggregate`` under the yamlex renderer), ``none`` is ``recurse`` that never merges lists.
    """
    if strategy == "smart":
        is_yamlex = renderer.rpartition("|")[2] == "yamlex" or renderer.startswith("yamlex_")
        strategy = "aggregate" if is_yamlex else "recurse"
    if strategy == "recurse":
        return merge_recurse(first, second, merge_lists)
    if strategy in {"aggregate", "overwrite"}:
        return {**first, **second}
    if strategy == "list":
        pairs = {key: [value, second[key]] if key in second else value for key, value in first.items()}
        return pairs | {key: value for key, value in second.items() if key not in first}
    if strategy != "none":
        log.warning("Unknown merging strategy %r, falling back to recurse", strategy)
    return merge_recurse(first, second)


def merge_recurse(first: Mapping[str, Any], second: Mapping[str, Any], merge_lists: bool = False) -> Pillar:
    """Merge mappings at every level; anything else in ``second`` replaces what is in ``first``."""
    merged = dict(first)
    for key, value in second.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = merge_recurse(before, value, merge_lists)
        elif merge_lists and isinstance(before, list) and isinstance(value, list):
            merged[key] = _union(before, value)
        else:
            merged[key] = value
    return merged


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    union = list(first)
    for item in second:
        if item not in union:
            union.append(item)
    return union
