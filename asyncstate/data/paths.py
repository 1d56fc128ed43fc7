"""Colon paths into nested data, as in ``pillar.get``, ``grains.get`` and ``config.get``."""

from __future__ import annotations

import fnmatch
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from asyncstate.data.yaml.scalar import read_plain
from asyncstate.errors import InvocationError

DELIMITER: Final = ":"

MISSING: Final[Any] = object()
"""A default that equals no data."""


def traverse(data: Any, key: Any, default: Any = None, delimiter: str = DELIMITER) -> Any:
    """Return the value at ``a:b:c`` in nested mappings and lists, else ``default``.

    In a list, a step is looked up first in the mappings among the items, then as an index. If a step is not a key as a
    string, it is tried as a YAML scalar, so ``ports:80`` finds the integer key 80.
    """
    found = data
    for step in _steps(key, delimiter):
        found = _in_list(found, step) if isinstance(found, list) else _in_mapping(found, step)
        if found is MISSING:
            return default
    return found


def _steps(key: Any, delimiter: str) -> list[Any]:
    if isinstance(key, str):
        return key.split(delimiter)
    return list(key) if isinstance(key, Iterable) else [key]


def _in_mapping(data: Any, step: Any) -> Any:
    try:
        return data[step]
    except KeyError:
        pass
    except (TypeError, IndexError):
        return MISSING
    try:
        return data[key_in(data, step)]
    except KeyError:
        return MISSING


def key_in(mapping: Mapping[Any, Any], step: Any) -> Any:
    """Return the key of a mapping that a step of a path means, ``step`` itself if it has none."""
    if step not in mapping:
        scalar = _as_yaml(step)
        with suppress(TypeError):  # a list is no key
            if scalar in mapping:
                return scalar
    return step


def _in_list(items: list[Any], step: Any) -> Any:
    index = list_index(step)
    wanted = step if index is None else index
    for item in list.__iter__(items):  # the iterator of a plugin's own list may be endless
        if isinstance(item, dict) and wanted in item:
            return item[wanted]
    if index is None or not -len(items) <= index < len(items):
        return MISSING
    return items[index]


def list_index(step: Any) -> int | None:
    """Return a step as the index of a list; None if it is a key only."""
    try:
        return int(step)
    except (TypeError, ValueError):
        return None


def _as_yaml(step: Any) -> Any:
    """Return the value of a text as a YAML scalar; ``MISSING`` if it is not text, or stays the same text."""
    if not isinstance(step, str):
        return MISSING
    if step == "None":
        return None
    try:
        value = read_plain(step)
    except ValueError:
        return MISSING
    return MISSING if value == step else value


def ensure_dict_key(in_dict: Any, keys: str, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Create the dicts on the path ``a:b:c``, including the last; changes the dict and returns it."""
    _made(in_dict, keys.split(delimiter), ordered_dict)
    return in_dict


def _made(in_dict: Any, path: list[str], ordered_dict: bool) -> Any:
    """Return the dict at the end of a path; missing dicts on the path are created, other values replaced by dicts."""
    here = in_dict
    for key in path:
        if not isinstance(here.get(key), dict):
            here[key] = OrderedDict() if ordered_dict else {}
        here = here[key]
    return here


def set_dict_key_value(in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Set the value at ``a:b:c``; changes the dict and returns it."""
    *path, last = keys.split(delimiter)
    parent = _made(in_dict, path, ordered_dict)
    parent[last] = value
    return in_dict


def _slot(
    in_dict: Any, keys: str, delimiter: str, *, ordered_dict: bool, empty: Callable[[], Any], verb: str
) -> Callable[[Any], None]:
    """Return the method ``verb`` of the value at ``a:b:c``, which ``empty`` creates if missing."""
    *path, last = keys.split(delimiter)
    parent = _made(in_dict, path, ordered_dict)
    if parent.get(last) is None:
        parent[last] = empty()
    method: Callable[[Any], None] | None = getattr(parent[last], verb, None)
    if method is None:
        raise InvocationError(f"The last key contains a {type(parent[last])}, which cannot {verb}.")
    return method


def update_dict_key_value(in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Update the dict at ``a:b:c``; changes the whole dict and returns it."""
    update = _slot(
        in_dict, keys, delimiter, ordered_dict=ordered_dict, empty=OrderedDict if ordered_dict else dict, verb="update"
    )
    try:
        update(value)
    except (TypeError, ValueError):
        target = OrderedDict if ordered_dict else dict
        raise InvocationError(f"Cannot update {target} with a {type(value)}.") from None
    return in_dict


def append_dict_key_value(in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Append to the list at ``a:b:c``; changes the whole dict and returns it."""
    _slot(in_dict, keys, delimiter, ordered_dict=ordered_dict, empty=list, verb="append")(value)
    return in_dict


def extend_dict_key_value(in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    """Extend the list at ``a:b:c``; changes the whole dict and returns it."""
    extend = _slot(in_dict, keys, delimiter, ordered_dict=ordered_dict, empty=list, verb="extend")
    try:
        extend(value)
    except TypeError:
        raise InvocationError(f"Cannot extend {list} with a {type(value)}.") from None
    return in_dict


Fits = Callable[[Any, str], bool]
"""A function that returns whether a value matches a pattern."""


def glob_fits(value: Any, pattern: str) -> bool:
    """Return whether the text of a value matches a shell pattern, without regard to case."""
    return fnmatch.fnmatch(str(value).lower(), pattern.lower())


def subdict_match(data: Mapping[str, Any], expr: str, delimiter: str = DELIMITER, fits: Fits = glob_fits) -> bool:
    """Return whether ``key:…:pattern`` matches ``data``; a delimiter may belong to a key or to the pattern.

    The longest path is tried first. The pattern may match a value, a member of a list, or a key of a mapping; ``*``
    matches any key on the path. Case does not matter.
    """
    parts = expr.split(delimiter)
    for index in range(len(parts) - 1, 0, -1):
        key, pattern = delimiter.join(parts[:index]), delimiter.join(parts[index:])
        if key == "*":
            found: Any = data
            pattern = expr
        else:
            found = traverse(data, key, {}, delimiter)
        if _any_match(found, pattern, delimiter, fits):
            return True
    return False


def _any_match(found: Any, pattern: str, delimiter: str, fits: Fits) -> bool:
    if isinstance(found, dict):
        return bool(found) and _matches_mapping(found, pattern, delimiter, fits)
    if isinstance(found, list | tuple):
        return any(
            (isinstance(member, dict) and _matches_mapping(member, pattern, delimiter, fits)) or fits(member, pattern)
            for member in found
        )
    return fits(found, pattern)


def _matches_mapping(mapping: Mapping[str, Any], pattern: str, delimiter: str, fits: Fits) -> bool:
    deep = pattern.startswith("*" + delimiter)
    if deep:
        pattern = pattern[1 + len(delimiter) :]
    if pattern == "*" or pattern in mapping or any(fits(key, pattern) for key in mapping):
        return True
    if subdict_match(mapping, pattern, delimiter, fits):
        return True
    return deep and any(_matches_below(value, pattern, delimiter, fits) for value in mapping.values())


def _matches_below(value: Any, pattern: str, delimiter: str, fits: Fits) -> bool:
    if isinstance(value, dict):
        return _matches_mapping(value, pattern, delimiter, fits)
    if isinstance(value, list):
        return any(fits(item, pattern) for item in value)
    return fits(value, pattern)
