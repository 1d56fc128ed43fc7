"""The ``pkg`` states: packages of the system's package manager, with Salt 3008's arguments and rows.

The execution module ``pkg`` of the platform does the work. The first state of a run that has to install something
refreshes the lists of packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, failed

from ._aggregation import mod_aggregate, mod_aggregate_split
from ._footprint import mod_footprint
from ._holds import held, unheld
from ._install import downloaded, installed
from ._newest import latest, uptodate
from ._prefetch import mod_prefetch
from ._refresh import plan_refresh as _plan_refresh
from ._removal import purged, removed
from ._transaction import mod_transaction

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
    "mod_prefetch",
    "mod_transaction",
    "mod_watch",
    "purged",
    "removed",
    "unheld",
    "uptodate",
]

__lane__ = "pkgdb"
"""Package managers lock each other out, so no two package states run at once, even if nothing orders them."""

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
    """Plan the refresh of this run before the first state that installs something."""
    if low["fun"] not in {"installed", "latest"}:
        return False
    _plan_refresh()
    return True


def mod_watch(name: str, **kwargs: Any) -> Row:
    """Run the state again when something it watches has changed."""
    sfun = kwargs.pop("sfun", None)
    if sfun in _WATCHING:
        return _WATCHING[sfun](name, **kwargs)
    return failed(name, f"pkg.{sfun} does not work with the watch requisite")
