"""Standard YAML, for files that are not SLS: dates are dates, and a repeated key replaces the one before.

Text that is too deep, or too large with its aliases expanded, is refused with its line before anything is built
(`asyncstate.data.limits`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from yaml.constructor import ConstructorError

from asyncstate.data.limits import DEEPEST, MOST_REPEATED, MOST_VALUES, TOO_DEEP, TOO_MANY, TOO_MUCH, Meter

if TYPE_CHECKING:
    from collections.abc import Iterator

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_standard_yaml(text: str | bytes) -> Any:
    """Return the data of the one document in ``text``. Raises yaml.YAMLError, a MarkedYAMLError if a place is known."""
    try:
        _measure(text)
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
        Meter().check(data)
    except (ValueError, TypeError, OverflowError, KeyError) as error:  # an invalid date, number or key
        raise yaml.YAMLError(str(error)) from None
    return data


def compose_nodes(text: str) -> yaml.Node | None:
    """Return the one document in ``text`` as nodes, each with its place; None if it is empty. Raises yaml.YAMLError."""
    try:
        _measure(text)
        return yaml.compose(text, Loader=_Loader)
    except ValueError as error:  # invalid Unicode
        raise yaml.YAMLError(str(error)) from None


def _measure(text: str | bytes) -> None:
    """Measure the events of a text without building anything. Raises ConstructorError beyond a limit."""
    sizes: dict[Any, int] = {}
    opened: list[tuple[Any, int]] = []
    size = repeated = 0
    events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
    mark: Any
    for event in events:
        mark = event.start_mark
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, size))
            if len(opened) > DEEPEST:
                raise ConstructorError(None, None, TOO_DEEP, mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor, 1)
            repeated += sizes.get(event.anchor, 1)
            if repeated > MOST_REPEATED:
                raise ConstructorError(None, None, TOO_MUCH, mark)
        size += 1
        if size - repeated > MOST_VALUES:
            raise ConstructorError(None, None, TOO_MANY, mark)
