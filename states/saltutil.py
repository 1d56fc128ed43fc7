"""The ``saltutil`` states. Plugins are loaded from the file roots, so there is nothing to synchronise."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __low__, is_dry_run, make_row, unchanged


async def sync_all(name: str, **kwargs: Any) -> Row:
    """Return that there was nothing to synchronise; the arguments are ignored."""
    return _nothing(name)


async def sync_beacons(name: str, **kwargs: Any) -> Row:
    """Return that no beacon was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_clouds(name: str, **kwargs: Any) -> Row:
    """Return that no cloud module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_engines(name: str, **kwargs: Any) -> Row:
    """Return that no engine was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_executors(name: str, **kwargs: Any) -> Row:
    """Return that no executor was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_grains(name: str, **kwargs: Any) -> Row:
    """Return that no grains module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_log_handlers(name: str, **kwargs: Any) -> Row:
    """Return that no log handler was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_matchers(name: str, **kwargs: Any) -> Row:
    """Return that no matcher was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_modules(name: str, **kwargs: Any) -> Row:
    """Return that no execution module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_output(name: str, **kwargs: Any) -> Row:
    """Return that no outputter was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_outputters(name: str, **kwargs: Any) -> Row:
    """Return that no outputter was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_pillar(name: str, **kwargs: Any) -> Row:
    """Return that no external pillar was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_proxymodules(name: str, **kwargs: Any) -> Row:
    """Return that no proxy module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_renderers(name: str, **kwargs: Any) -> Row:
    """Return that no renderer was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_resources(name: str, **kwargs: Any) -> Row:
    """Return that no resource module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_returners(name: str, **kwargs: Any) -> Row:
    """Return that no returner was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_sdb(name: str, **kwargs: Any) -> Row:
    """Return that no module of sdb was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_serializers(name: str, **kwargs: Any) -> Row:
    """Return that no serializer was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_states(name: str, **kwargs: Any) -> Row:
    """Return that no state module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_thorium(name: str, **kwargs: Any) -> Row:
    """Return that no thorium module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_tops(name: str, **kwargs: Any) -> Row:
    """Return that no module of master_tops was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_utils(name: str, **kwargs: Any) -> Row:
    """Return that no utility module was to be synchronised; the arguments are ignored."""
    return _nothing(name)


async def sync_wrapper(name: str, **kwargs: Any) -> Row:
    """Return that no wrapper of salt-ssh was to be synchronised; the arguments are ignored."""
    return _nothing(name)


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: the state reads and writes nothing."""
    return {"reads": [], "writes": []}


def _nothing(name: str) -> Row:
    if is_dry_run():
        return make_row(name, f"saltutil.{__low__['fun']} would have been run", result=None)
    return unchanged(name, "No updates to sync")
