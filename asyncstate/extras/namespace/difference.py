"""The differences between two dicts, and between nested data."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from asyncstate.data.collection import is_iter


class DictDiffer:
    """The keys that were added, removed, changed and unchanged between a past dict and the current one."""

    def __init__(self, current_dict: Mapping[Any, Any], past_dict: Mapping[Any, Any]) -> None:
        self.current_dict: Mapping[Any, Any] = current_dict
        self.past_dict: Mapping[Any, Any] = past_dict
        self.intersect: set[Any] = current_dict.keys() & past_dict.keys()

    def added(self) -> set[Any]:
        """Return the keys that only the current dict has."""
        return set(self.current_dict.keys() - self.intersect)

    def removed(self) -> set[Any]:
        """Return the keys that only the past dict has."""
        return set(self.past_dict.keys() - self.intersect)

    def changed(self) -> set[Any]:
        """Return the common keys whose values differ."""
        return {key for key in self.intersect if self.past_dict[key] != self.current_dict[key]}

    def unchanged(self) -> set[Any]:
        """Return the common keys whose values are the same."""
        return {key for key in self.intersect if self.past_dict[key] == self.current_dict[key]}


def diff(current_dict: Mapping[Any, Any], past_dict: Mapping[Any, Any]) -> DictDiffer:
    """Compare the keys of two dicts."""
    return DictDiffer(current_dict, past_dict)


def deep_diff(
    old: Mapping[Any, Any], new: Mapping[Any, Any], ignore: Sequence[Any] | None = None
) -> dict[str, dict[Any, Any]]:
    """Return ``{old, new}``: the data that only one dict has, at any depth; ``ignore`` names keys to skip."""
    before, after = _difference(old, new, set(ignore or ()))
    return ({"old": before} if before else {}) | ({"new": after} if after else {})


def _difference(old: Mapping[Any, Any], new: Mapping[Any, Any], ignored: set[Any]) -> tuple[Any, Any]:
    before, after = {}, {}
    for key in dict.fromkeys([*old, *new]):
        if key in ignored or (key in old and key in new and old[key] == new[key]):
            continue
        mine, theirs = old.get(key), new.get(key)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            mine, theirs = _difference(mine, theirs, ignored)
            if mine == theirs:
                continue
        if key in old:
            before[key] = mine
        if key in new:
            after[key] = theirs
    return before, after


def data_diff(
    old: Any,
    new: Any,
    ignore_keys: Sequence[Any] | None = None,
    ignore_order: bool = False,
    ignore_missing_keys: bool = False,
) -> dict[str, Any]:
    """Return the differences of nested data as ``{old, new}``, ``{}`` if there are none.

    Lists are compared index by index, or with ``ignore_order`` as if they were sets; ordered dicts entry by entry, or
    with ``ignore_order`` by key, like other mappings. ``ignore_missing_keys`` skips keys that only the old mapping has.
    """

    def compare(mine: Any, theirs: Any) -> dict[str, Any]:
        if isinstance(mine, OrderedDict) and isinstance(theirs, OrderedDict) and not ignore_order:
            return by_place(mine, theirs)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            return by_key(mine, theirs)
        if isinstance(mine, AbstractSet) and isinstance(theirs, AbstractSet):
            return _pair(mine - theirs, theirs - mine)
        if is_iter(mine) and is_iter(theirs):
            before, after = unordered(mine, theirs) if ignore_order else in_order(mine, theirs)
            return _pair(type(mine)(before), type(theirs)(after))
        return {} if mine == theirs else {"old": mine, "new": theirs}

    def by_key(mine: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[str, Any]:
        before: Any = type(mine)()
        after: Any = type(theirs)()
        for key in dict.fromkeys([*mine, *theirs]):
            if key in ignored or (ignore_missing_keys and key not in theirs):
                continue
            if key in mine and key in theirs:
                found = compare(mine[key], theirs[key])
                if found:
                    before[key], after[key] = found["old"], found["new"]
            elif key in mine:
                before[key] = mine[key]
            else:
                after[key] = theirs[key]
        return _pair(before, after)

    def by_place(mine: OrderedDict[Any, Any], theirs: OrderedDict[Any, Any]) -> dict[str, Any]:
        before, after = OrderedDict(mine), OrderedDict(theirs)
        for one, other in zip(mine, theirs, strict=False):
            found = compare(mine[one], theirs[other]) if one == other and one not in ignored else None
            if found:
                before[one], after[other] = found["old"], found["new"]
                continue
            if one in ignored or found is not None:
                del before[one]
            if other in ignored or found is not None:
                del after[other]
        return _pair(before, after)

    def in_order(mine: Any, theirs: Any) -> tuple[list[Any], list[Any]]:
        before, after = list(mine), list(theirs)
        common = min(len(before), len(after))
        found = [compare(*pair) for pair in zip(before, after, strict=False)]
        return (
            [each["old"] for each in found if each] + before[common:],
            [each["new"] for each in found if each] + after[common:],
        )

    def unordered(mine: Any, theirs: Any) -> tuple[list[Any], list[Any]]:
        before, after = list(mine), list(theirs)
        for item in list(before):
            same = next((other for other in after if not compare(item, other)), _NOTHING)
            if same is not _NOTHING:
                before.remove(item)
                after.remove(same)
        return before, after

    ignored = set(ignore_keys or ())
    return compare(old, new)


_NOTHING = object()


def _pair(before: Any, after: Any) -> dict[str, Any]:
    return {"old": before, "new": after} if before or after else {}
