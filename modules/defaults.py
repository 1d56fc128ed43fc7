"""The ``defaults`` execution module: a formula's ``defaults.yaml`` or ``defaults.json``, and merging."""

from __future__ import annotations

import copy
from typing import Any

from asyncstate import filesystem
from asyncstate.data import formats, merging, paths
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError


def get(key: str, default: Any = "") -> Any:
    """Return ``formula:path``: the value under the path in the formula's defaults file; without a path, all of it."""
    formula, _, path = key.partition(":")
    data = _load(formula)
    return paths.traverse(data, path, default) if path else data


def merge(
    dest: Any, src: Any, merge_lists: bool = False, in_place: bool = True, convert_none: bool = True
) -> dict[Any, Any]:
    """Merge ``src`` into ``dest`` (into a copy unless ``in_place``) and return it. None counts as {}."""
    source = {} if src is None and convert_none else src
    if dest is None and convert_none:
        if in_place:
            raise TypeError("Can't perform in-place merge into NoneType")
        dest = {}
    target = dest if in_place else copy.deepcopy(dest)
    merged: dict[Any, Any] = merging.update(target, source, merge_lists=merge_lists)
    return merged


def deepcopy(source: Any) -> Any:
    """Return a copy that shares nothing with ``source``."""
    return copy.deepcopy(source)


def update(
    dest: Any, defaults: Any, merge_lists: bool = True, in_place: bool = True, convert_none: bool = True
) -> dict[Any, Any]:
    """Merge each value of ``dest`` over a copy of ``defaults``; return ``dest`` (a copy unless ``in_place``)."""
    if dest is None:
        if in_place:
            raise TypeError("Can't perform in-place update into NoneType")
        dest = {}
    nodes: dict[Any, Any] = dest if in_place else copy.deepcopy(dest)
    defaults = {} if defaults is None and convert_none else defaults
    for name, values in nodes.items():
        nodes[name] = merge(copy.deepcopy(defaults), values, merge_lists=merge_lists, convert_none=convert_none)
    return nodes


def _load(formula: str) -> Any:
    """Return the content of the defaults file; None without one."""
    for suffix in ("yaml", "json"):
        path = __salt__["cp.cache_file"](f"salt://{formula}/defaults.{suffix}")
        if path:
            with filesystem.open_text(path) as file:
                text = file.read()
            return _parse(text, suffix, path) or {}
    return None


def _parse(text: str, suffix: str, path: str) -> Any:
    try:
        return formats.json_data(text) if suffix == "json" else formats.yaml_data(text)
    except ValueError as error:
        raise CommandExecutionError(f"{path} cannot be read: {error}") from error
