"""The ``saltutil`` states. Plugins are loaded from the file roots, so there is nothing to synchronise."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __low__, is_dry_run, make_row, unchanged


async def sync_all(name: str, **kwargs: Any) -> Row:
    """Return that there was nothing to synchronise; the arguments are ignored."""
    return _nothing(name)


async def sync_grains(name: str, **kwargs: Any) -> Row:
    """Return that no grains module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_modules(name: str, **kwargs: Any) -> Row:
    """Return that no execution module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_renderers(name: str, **kwargs: Any) -> Row:
    """Return that no renderer was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_states(name: str, **kwargs: Any) -> Row:
    """Return that no state module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_utils(name: str, **kwargs: Any) -> Row:
    """Return that no utility module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: the state reads and writes nothing."""
    return {"reads": [], "writes": []}


def _nothing(name: str) -> Row:
    if is_dry_run():
        return make_row(name, f"saltutil.{__low__['fun']} would have been run", result=None)
    return unchanged(name, "No updates to sync")
