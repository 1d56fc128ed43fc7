"""Merging of nested data: the strategies behind ``slsutil.merge``, ``defaults.merge``, ``pillar.get(merge=True)``.

`update` works in place, as its callers expect; everything else returns new data and leaves its arguments alone.
"""

from __future__ import annotations

import copy
import fnmatch
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from asyncstate.errors import InvocationError

from ._traversal import traverse

log = logging.getLogger(__name__)


def fresh(value: Any) -> Any:
    """Copy dicts and lists to any depth; share everything else. What keeps its order when printed goes on doing so."""
    if isinstance(value, dict):
        pairs = ((key, fresh(item)) for key, item in value.items())
        return OrderedDict(pairs) if isinstance(value, OrderedDict) else dict(pairs)
    if isinstance(value, list):
        return [fresh(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """Copy dicts and lists to any depth, every kind of dict as a plain one, as writers of YAML want it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def update(target: Any, source: Any, *, recursive: bool = True, merge_lists: bool = False, strict: bool = False) -> Any:
    """Merge ``source`` into ``target`` and return it: mappings key by key, anything else replaced.

    ``merge_lists`` appends what a list does not have yet. ``strict`` refuses to merge a mapping into a list then.
    """
    if not isinstance(target, Mapping) or not isinstance(source, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    into: Any = target
    for key, value in source.items():
        present = into.get(key)
        if not recursive:
            into[key] = value
        elif isinstance(present, Mapping) and isinstance(value, Mapping):
            into[key] = update(present, value, merge_lists=merge_lists)
        elif merge_lists and isinstance(present, list) and isinstance(value, list):
            into[key] = present + [item for item in value if item not in present]
        elif strict and merge_lists and isinstance(present, list) and isinstance(value, Mapping):
            raise TypeError(f"Cannot merge a mapping into the list under {key!r}")
        else:
            into[key] = value
    return into


def merge(first: Any, second: Any, strategy: str = "smart", renderer: str = "yaml", merge_lists: bool = False) -> Any:
    """Return both merged, ``second`` winning, by one of Salt's strategies.

    ``recurse`` merges mappings at every depth, ``overwrite`` and (of data that is not marked) ``aggregate`` replace
    top-level keys, ``list`` gathers both values of a common key in a list, ``smart`` chooses by the renderer.
    """
    if strategy == "smart":
        strategy = (
            "aggregate"
            if renderer.rsplit("|", maxsplit=1)[-1] == "yamlex" or renderer.startswith("yamlex_")
            else "recurse"
        )
    if strategy == "list":
        return {key: [value, second[key]] if key in second else value for key, value in first.items()}
    if strategy in {"overwrite", "aggregate"}:
        return {**first, **second}
    if strategy not in {"recurse", "none"}:
        log.warning("Unknown merging strategy '%s', fallback to recurse", strategy)
    return update(copy.deepcopy(first), second, merge_lists=merge_lists and strategy == "recurse")


def filter_by(
    lookup_dict: Mapping[Any, Any], value: Any, merge: Any = None, default: str = "default", base: str | None = None
) -> Any:
    """Return the entry of ``lookup_dict`` whose key, a shell pattern, matches ``value`` (or one of its items).

    Without one, the entry ``default``. ``base`` names an entry it is laid over, ``merge`` is laid over it. The lookup
    data itself is never changed.
    """
    found = _lookup(lookup_dict, value)
    if found is None:
        found = lookup_dict.get(default)
    if base and base in lookup_dict:
        below = lookup_dict[base]
        if found is None:
            found = below
        elif isinstance(below, Mapping):
            if not isinstance(found, Mapping):
                raise InvocationError("filter_by default and look-up values must both be dictionaries.")
            found = update(copy.deepcopy(below), found)
    if not merge:
        return found
    if not isinstance(merge, Mapping):
        raise InvocationError("filter_by merge argument must be a dictionary.")
    return merge if found is None else update(copy.deepcopy(found), copy.deepcopy(merge))


def lookup_value(data: Any, key: str) -> Any:
    """Return what `filter_by` compares: the value under a colon path, an empty list without one."""
    return traverse(data, key, [])


def _lookup(lookup_dict: Mapping[Any, Any], value: Any) -> Any:
    for item in value if isinstance(value, list) else [value]:
        for pattern, entry in lookup_dict.items():
            if entry is not None and fnmatch.fnmatchcase(str(item), str(pattern)):
                return entry
    return None
