"""Conditions on the machines to which a part of an interface applies: grains and the values they may have."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

_ALIASES = {"osfamily": "os_family"}
_COLLECTIONS = (list, tuple, set, frozenset)


class Condition:
    """``grain=[value, …]`` pairs; one grain with one of its values is enough.

    Values are compared as text, without regard to case, and may be globs. A grain that is a list matches if one of its
    elements does, a mapping if one of its keys does; a grain that this machine lacks does not match. ``a:b`` is the
    entry ``b`` of the grain ``a``, unless a grain has that name. Raises TypeError if a value is not text, a number or
    a boolean.
    """

    __slots__ = ("wanted",)

    def __init__(self, grains: Mapping[str, Any]) -> None:
        if not grains:
            raise TypeError("name at least one grain, such as os_family=['Debian']")
        self.wanted: dict[str, tuple[Any, ...]] = {
            _ALIASES.get(name, name): _values(name, value) for name, value in grains.items()
        }

    def matches(self, grains: Mapping[str, Any]) -> bool:
        """Return whether the condition holds on a machine with these grains."""
        return any(
            fnmatchcase(_text(actual), _text(pattern))
            for name, patterns in self.wanted.items()
            for actual in _elements(grain(name, grains))
            for pattern in patterns
        )

    def __str__(self) -> str:
        return " or ".join(f"{name}={','.join(map(str, values))}" for name, values in self.wanted.items())

    def __repr__(self) -> str:
        return f"<Condition {self}>"


def grain(name: str, grains: Mapping[str, Any]) -> Any:
    """Return a grain, or with ``a:b`` an entry of one that is a mapping; None if this machine has none."""
    value: Any = grains
    if name in grains:
        return grains[name]
    for part in name.split(":"):
        if isinstance(value, _COLLECTIONS):
            return next((item[part] for item in value if isinstance(item, Mapping) and part in item), None)
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def all_match(conditions: tuple[Condition, ...], grains: Mapping[str, Any]) -> bool:
    """Return whether all stacked conditions hold; False if there are none."""
    return bool(conditions) and all(condition.matches(grains) for condition in conditions)


def describe(conditions: tuple[Condition, ...]) -> str:
    """Return stacked conditions as text."""
    return " and ".join(f"({each})" if len(conditions) > 1 else str(each) for each in conditions)


def _values(name: str, value: Any) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, _COLLECTIONS) else (value,)
    for each in values:
        if each is None or callable(each) or isinstance(each, (Mapping, *_COLLECTIONS)):
            raise TypeError(f"{name}={each!r}: a grain is compared with texts, numbers or booleans")
    return values


def _elements(actual: Any) -> tuple[Any, ...]:
    if actual is None:
        return ()
    return tuple(actual) if isinstance(actual, (Mapping, *_COLLECTIONS)) else (actual,)


def _text(value: Any) -> str:
    return str(value).lower()
