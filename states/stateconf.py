"""The ``stateconf`` states: no state at all, but where the renderer ``stateconf`` keeps the parameters of an SLS."""

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
    """Touch nothing."""
    return {"reads": [], "writes": []}
