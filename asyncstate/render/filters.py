"""Every filter and test Salt adds to Jinja, by name.

The serializer filters (``yaml``, ``json``, ``load_yaml`` …) come with the extension in ``serializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncstate.render import (
    filters_collection,
    filters_date,
    filters_digest,
    filters_network,
    filters_system,
    filters_text,
    filters_yaml,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FILTERS: Final[dict[str, Callable[..., Any]]] = {
    **filters_text.FILTERS,
    **filters_collection.FILTERS,
    **filters_digest.FILTERS,
    **filters_network.FILTERS,
    **filters_system.FILTERS,
    **filters_yaml.FILTERS,
}
"""Filters that depend on their arguments alone: Jinja may compute them when it compiles a template."""

CHANGING: Final[dict[str, Callable[..., Any]]] = {
    **filters_collection.CHANGING,
    **filters_date.CHANGING,
    **filters_digest.CHANGING,
    **filters_network.CHANGING,
    **filters_system.CHANGING,
}
"""Filters that look at the clock, this host, the network or chance: called anew in every rendering, and only there."""


def equalto(value: Any, other: Any) -> bool:
    """Tell whether two values are equal (the ``equalto`` test)."""
    return bool(value == other)


TESTS: Final[dict[str, Callable[..., bool]]] = {
    "equalto": equalto,
    "list": filters_collection.is_list,
    "match": filters_text.matches,
}
