"""Records the changes that a call has made, so that a state which fails half-way can report them.

Every change made through this package is recorded in the context of the current call. If the state fails and its row
names no changes, the engine puts these into it. Outside of a call nothing is recorded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.dunders.context import current, observer
from asyncstate.errors import PathRefused
from asyncstate.residue import TEMPORARY

from . import query

if TYPE_CHECKING:
    from asyncstate.dunders.context import Deed

_DEEDS: tuple[Deed, ...] = ("created", "changed", "removed", "removed in part")


def note(path: str, deed: Deed) -> None:
    """Record a change of ``path``. A file that the call made and removed again leaves no record."""
    watching = observer.get()
    if watching is not None:
        watching.saw(os.path.abspath(path), deed)
    call = current.get(None)
    if call is None:
        return
    path = path.rstrip("/") or path
    done, before = call.done, call.done.get(path)
    if before == TEMPORARY and deed == "removed":
        return
    if deed == "removed" and before == "created":
        del done[path]
    elif deed == "created" and before not in {None, TEMPORARY}:
        done[path] = "changed"
    elif deed != "changed" or before is None:
        done[path] = deed


def note_renamed(source: str, target: str, *, new: bool) -> None:
    """Record that ``source`` was renamed to ``target``; ``new`` if ``target`` did not exist."""
    note(source, "removed")
    note(target, "created" if new else "changed")


def changes_so_far() -> dict[str, list[str]]:
    """Return the changes of the current call: lists of paths, in order, under the kind of change.

    The keys are "created", "changed", "removed" and "removed in part" (a directory); a key without paths is left out.
    So are the cache directory with its files and the folders made for it, and temporary files that no longer exist.
    """
    call = current.get(None)
    if call is None or not call.done:
        return {}
    deeds = list(call.done.items())  # a copy: a thread of a call that was cut off may still add to it
    cache = os.path.join(str(call.base_opts.get("cachedir") or "\0"), "")
    internal = (cache, *(os.path.join(path, "") for path, done in deeds if done == TEMPORARY))
    found: dict[str, list[str]] = {
        deed: [
            path
            for path, done in deeds
            if done == deed
            and not path.startswith(internal)
            and not cache.startswith(os.path.join(path, ""))
            and (done == "removed" or _stands(path))
        ]
        for deed in _DEEDS
    }
    return {deed: paths for deed, paths in found.items() if paths}


def _stands(path: str) -> bool:
    try:
        return query.lexists(path)
    except (PathRefused, OSError):
        return True
