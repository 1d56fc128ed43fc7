"""The ``stateconf`` states: they do nothing; the renderer ``stateconf`` keeps the parameters of an SLS in them."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, unchanged

__func_alias__ = {"set_": "set"}


async def set_(name: str, **kwargs: Any) -> Row:
    """Succeed without changes; the arguments are the parameters."""
    return unchanged(name)


async def context(name: str, **kwargs: Any) -> Row:
    """Succeed without changes, as `set_` does."""
    return await set_(name, **kwargs)


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: the state reads and writes nothing."""
    return {"reads": [], "writes": []}
