"""The installed packages of a package manager, read once, and again after changes of its database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __context__, __salt__

if TYPE_CHECKING:
    from collections.abc import Callable

Versions = dict[str, list[str]]

_CACHE = "pkg.list_pkgs"


class Listing:
    """The result of ``query``, the versions by package, kept in ``__context__``.

    ``watched`` are files and folders of the database: when any process has changed one of them, ``query`` runs again.
    """

    def __init__(self, query: Callable[[], Versions], *watched: str) -> None:
        self._query = query
        self._watched = watched

    def get(self, versions_as_list: Any = False, **kwargs: Any) -> dict[str, Any]:
        """Return the versions by package: one text, or (``versions_as_list``) a list.

        These package managers have neither packages with only configuration left (``removed``) nor packages selected
        for removal (``purge_desired``): {} is returned for these. ``use_context: False`` always queries.
        """
        if kwargs.get("removed") or kwargs.get("purge_desired"):
            return {}
        found = self._known(use_cache=bool(kwargs.get("use_context", True)))
        if versions_as_list:
            return {name: list(versions) for name, versions in found.items()}
        return {name: ",".join(versions) for name, versions in found.items()}

    def forget(self) -> None:
        """Query again at the next call."""
        __context__.pop(_CACHE, None)

    def _known(self, *, use_cache: bool) -> Versions:
        stamp = tuple(map(_stamp, self._watched))
        known = __context__.get(_CACHE)
        if use_cache and known is not None and known[0] == stamp:
            versions: Versions = known[1]
            return versions
        found = self._query()
        __context__[_CACHE] = (stamp, found)
        return found


class Downloads:
    """The package files in the cache of the package manager: the `Listing` for a call that only downloads."""

    def get(self, **_kwargs: Any) -> dict[str, Any]:
        """Return the files by package and version."""
        return dict(__salt__["pkg.list_downloaded"]())

    def forget(self) -> None:
        """Do nothing: there is no cache."""


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
