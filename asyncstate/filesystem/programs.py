"""Checks paths for other programs, which open them by name and cannot be given a descriptor."""

from __future__ import annotations

import os

from asyncstate.errors import PathRefused

from . import change, place, query, steps, trust


def require_unshared(path: str, program: str, user: str | None = None, *, make: bool = False) -> None:
    """Raise PathRefused if users other than root can redirect what ``program`` does at and below ``path``.

    A program that runs as a ``user`` other than root has only the rights of that user, so its path is not checked. With
    ``make``, a directory that is missing in a folder like ``/tmp`` is created, so that no other user creates it first.
    """
    if not trust.is_root() or user not in (None, "", "root"):
        return
    path = place.absolute(path).rstrip("/") or "/"
    who, shared = _who_changes(path)
    if who is not None:
        raise PathRefused(
            f"Refusing to run {program} as root in {path}: {trust.name_of(who)} can replace files there meanwhile. "
            "Run it as the owner of that folder (`user`), or let only root write to every folder on the way."
        )
    if shared and make:
        change.mkdir(path)


def require_own_place(path: str, program: str, user: str | None = None) -> None:
    """Raise PathRefused if users other than root can replace the entry at ``path``, whoever owns it now.

    For programs that put something over a path and not below it, as mount does. The path need not exist. ``user`` is
    as in `require_unshared`.
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
            f"Refusing to run {program} as root on {path}: {trust.name_of(who)} can put something else there. Let "
            "only root write to every folder on the way."
        )


def _who_changes(path: str) -> tuple[int | None, bool]:
    """Return who can change the entry at ``path`` or above, and whether it is missing in a folder all may write to."""
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
