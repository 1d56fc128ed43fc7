"""Where other programs may be let loose: they act by paths, and cannot be handed a descriptor."""

from __future__ import annotations

import os

from asyncstate.errors import PathRefused

from . import change, place, query, steps, trust


def require_unshared(path: str, program: str, user: str | None = None, *, make: bool = False) -> None:
    """Raise PathRefused unless what ``program`` does at and below ``path`` cannot be led elsewhere by others.

    A program that runs as another ``user`` than root has no more rights than he: nothing is asked of its path. With
    ``make`` a directory that is missing from a folder like ``/tmp`` is made, so that nobody else makes it first.
    """
    if not trust.is_root() or user not in (None, "", "root"):
        return
    path = place.absolute(path).rstrip("/") or "/"
    who, shared = _who_changes(path)
    if who is not None:
        raise PathRefused(
            f"Refusing to run {program} as root in {path}: {trust.name_of(who)} can exchange what is there meanwhile. "
            "Run it as the user whose folder that is (`user`), or make every folder on the way root's alone."
        )
    if shared and make:
        change.mkdir(path)


def require_own_place(path: str, program: str, user: str | None = None) -> None:
    """Raise PathRefused unless only root can put something else at ``path``, whoever owns what is there.

    For programs that put something over a path and not below it, as mount does. Nothing need be there. A ``user`` as
    for `require_unshared`.
    """
    if not trust.is_root() or user not in (None, "", "root"):
        return
    path = place.absolute(path).rstrip("/") or "/"
    try:
        who = steps.user_on_the_way(path, within=False)
    except FileNotFoundError:
        who = _who_changes(path)[0]
    if who is not None:
        raise PathRefused(
            f"Refusing to run {program} as root on {path}: {trust.name_of(who)} can put something else there. Make "
            "every folder on the way root's alone."
        )


def _who_changes(path: str) -> tuple[int | None, bool]:
    """Return who can change what is at ``path`` or above; and whether it is missing from a folder all may write to."""
    try:
        return steps.user_on_the_way(path), False
    except FileNotFoundError:
        above = os.path.dirname(path)
    try:
        if trust.is_shared(query.stat(above)):
            return steps.user_on_the_way(os.path.dirname(above)), True
    except FileNotFoundError:
        pass
    return _who_changes(above)[0], False
