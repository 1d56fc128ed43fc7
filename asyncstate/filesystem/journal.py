"""What a call has done so far: a state that is refused or fails half-way must not lose it.

Every change that goes through this package is noted in the context of the call under way; the engine puts it into a
failed row that names no changes. Outside of a call nobody asks.
"""

from __future__ import annotations

import os
from typing import Literal

from asyncstate.dunders import current
from asyncstate.errors import PathRefused

from . import query

Deed = Literal["created", "changed", "removed", "removed in part"]
_DEEDS: tuple[Deed, ...] = ("created", "changed", "removed", "removed in part")


def note(path: str, deed: Deed) -> None:
    """Note what was done to ``path``. What was made and removed again has not been there."""
    call = current.get(None)
    if call is None:
        return
    path = path.rstrip("/") or path
    done, before = call.done, call.done.get(path)
    if deed == "removed" and before == "created":
        del done[path]
    elif deed == "created" and before is not None:
        done[path] = "changed"
    elif deed != "changed" or before is None:
        done[path] = deed


def note_renamed(source: str, target: str, *, new: bool) -> None:
    """Note that ``source`` is ``target`` now, ``new`` if nothing stood there."""
    note(source, "removed")
    note(target, "created" if new else "changed")


def changes_so_far() -> dict[str, list[str]]:
    """Return what the call under way has done: paths by what was done to them, in the order it was done.

    The keys are "created", "changed", "removed" and "removed in part", for a directory; those without paths are not
    there. Files of the cache directory are nobody's, and those that are gone by other ways were temporary.
    """
    call = current.get(None)
    if call is None or not call.done:
        return {}
    deeds = list(call.done.items())  # a call that was cut off may still be at work
    cache = os.path.join(str(call.base_opts.get("cachedir") or "\0"), "")
    found: dict[str, list[str]] = {
        deed: [
            path
            for path, done in deeds
            if done == deed and not path.startswith(cache) and (done == "removed" or _stands(path))
        ]
        for deed in _DEEDS
    }
    return {deed: paths for deed, paths in found.items() if paths}


def _stands(path: str) -> bool:
    try:
        return query.lexists(path)
    except (PathRefused, OSError):
        return True
