"""Colon paths into nested data: what ``pillar.get``, ``grains.get``, ``config.get`` and their kin look up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DELIMITER = ":"

MISSING: Any = object()
"""A default that no data can be equal to."""

_NUMBER = re.compile(r"[-+]?(?:\d+|\d+\.\d*|\.\d+)")
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "null": None, "~": None}


def traverse(data: Any, key: Any, default: Any = None, delimiter: str = DELIMITER) -> Any:
    """Return what ``a:b:c`` leads to in nested mappings and lists, else ``default``.

    In a list, a step is looked up in the mappings among the items first and taken as an index otherwise. A step that
    is no key as a string is tried as the YAML scalar it spells, so ``ports:80`` finds the integer key 80.
    """
    found = data
    for step in _steps(key, delimiter):
        found = _in_list(found, step) if isinstance(found, list) else _in_mapping(found, step)
        if found is MISSING:
            return default
    return found


def assign(data: dict[Any, Any], key: str, value: Any, delimiter: str = DELIMITER) -> None:
    """Set what ``a:b:c`` leads to; missing steps, and steps that are no mapping, become mappings."""
    *parents, last = key.split(delimiter)
    target = data
    for step in parents:
        if not isinstance(target.get(step), dict):
            target[step] = {}
        target = target[step]
    target[last] = value


def _steps(key: Any, delimiter: str) -> list[Any]:
    if isinstance(key, str):
        return key.split(delimiter)
    return list(key) if isinstance(key, (list, tuple)) else [key]


def _in_mapping(data: Any, step: Any) -> Any:
    try:
        return data[step]
    except KeyError:
        scalar = _as_yaml_scalar(step)
        if scalar is MISSING:
            return MISSING
    except (TypeError, IndexError):
        return MISSING
    try:
        return data[scalar]
    except (KeyError, TypeError):
        return MISSING


def _in_list(items: list[Any], step: Any) -> Any:
    try:
        index = int(step)
    except (TypeError, ValueError):
        index = None
    wanted = step if index is None else index
    for item in items:
        if isinstance(item, Mapping) and wanted in item:
            return item[wanted]
    if index is None or not -len(items) <= index < len(items):
        return MISSING
    return items[index]


def _as_yaml_scalar(step: Any) -> Any:
    """Return the number, boolean or null that a string spells, or MISSING when it spells a string."""
    if not isinstance(step, str):
        return MISSING
    if step.lower() in _WORDS:
        return _WORDS[step.lower()]
    if not _NUMBER.fullmatch(step):
        return MISSING
    return float(step) if "." in step else int(step)
