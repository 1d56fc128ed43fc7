"""The ``pkg`` states: packages of the system's package manager, with Salt 3008's arguments and rows.

The work is in the execution module ``pkg`` of the platform. The lists of packages are refreshed once in a run, by the
first state that has to install something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, failed

from .. import _package_sources as package_sources  # noqa: TID252 - as `states` for type checkers
from ._aggregation import mod_aggregate, mod_aggregate_split
from ._holds import held, unheld
from ._install import downloaded, installed
from ._newest import latest, uptodate
from ._refresh import plan_refresh as _plan_refresh
from ._removal import purged, removed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "downloaded",
    "held",
    "installed",
    "latest",
    "mod_aggregate",
    "mod_aggregate_split",
    "mod_footprint",
    "mod_init",
    "mod_watch",
    "purged",
    "removed",
    "unheld",
    "uptodate",
]

__lane__ = "pkgdb"
"""Package managers lock each other out: no two package states at once, whatever orders them or does not."""

_WATCHING: dict[str, Callable[..., Row]] = {
    "installed": installed,
    "latest": latest,
    "removed": removed,
    "purged": purged,
}


def __virtual__() -> Any:
    if "pkg.install" in __salt__:
        return True
    return False, "pkg module could not be loaded"


def mod_init(low: dict[str, Any]) -> bool:
    """Plan the refresh of this run when the first state that installs something comes up."""
    if low["fun"] not in {"installed", "latest"}:
        return False
    _plan_refresh()
    return True


def mod_watch(name: str, **kwargs: Any) -> Row:
    """Do what the watching state does, once more."""
    sfun = kwargs.pop("sfun", None)
    if sfun in _WATCHING:
        return _WATCHING[sfun](name, **kwargs)
    return failed(name, f"pkg.{sfun} does not work with the watch requisite")


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return what a package state touches: the package database, and where packages come from.

    What a package installs cannot be named.
    """
    sources = low.get("sources")
    sources = sources if isinstance(sources, list) else []
    files = [str(path) for each in sources if isinstance(each, dict) for path in each.values()]
    reads = [f"path:{path}" for path in (*files, *package_sources.FILES) if path.startswith("/")]
    return {"reads": reads, "writes": ["pkgdb"]}
