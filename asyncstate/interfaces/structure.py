"""Structure of returned values: whether a value has the form an interface declares.

A declaration is a value of the expected form: a dict lists required keys with values of the expected type, a list holds
one element as the form of all, a type allows its instances. None, {} and [] allow any content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def mismatches(declared: Any, actual: Any) -> list[str]:
    """Return where ``actual`` does not have the form of ``declared``, [] if it does. Neither is changed."""
    return list(_mismatches(declared, actual, ""))


def _mismatches(declared: Any, actual: Any, place: str) -> Iterator[str]:
    where = place or "the value"
    if declared is None or declared == {}:
        return
    if isinstance(declared, Mapping):
        if not isinstance(actual, Mapping):
            yield f"{where} is {_kind(actual)}, not dict"
            return
        for key, form in declared.items():
            inner = f"{place}[{key!r}]"
            if key in actual:
                yield from _mismatches(form, actual[key], inner)
            else:
                yield f"{inner} is missing"
    elif isinstance(declared, (list, tuple)):
        if not isinstance(actual, (list, tuple)):
            yield f"{where} is {_kind(actual)}, not list"
            return
        for index, item in enumerate(actual if declared else ()):
            yield from _mismatches(declared[0], item, f"{place}[{index}]")
    else:
        wanted = declared if isinstance(declared, type) else type(declared)
        if not _is_a(actual, wanted):
            yield f"{where} is {_kind(actual)}, not {wanted.__name__}"


def _is_a(actual: Any, wanted: type) -> bool:
    if isinstance(actual, bool):
        return wanted in {bool, object}
    return isinstance(actual, wanted) or (wanted is float and isinstance(actual, int))


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
