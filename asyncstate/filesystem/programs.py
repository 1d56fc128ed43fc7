"""Where other programs may be let loose: they act by paths, and cannot be handed a descriptor."""

from __future__ import annotations

import os
import stat

from asyncstate.errors import PathRefused

from . import change, place, steps, trust


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


def _who_changes(path: str) -> tuple[int | None, bool]:
    """Return who can change what is at ``path`` or above; and whether it is missing from a folder all may write to."""
    try:
        reached = steps.walk(path, follow=True)
    except FileNotFoundError:
        who, _ = _who_changes(os.path.dirname(path))
        return who, False
    try:
        if reached.changer is not None:
            return reached.changer, False
        if reached.fd == -1:
            return None, trust.is_shared(os.fstat(reached.folder))
        found = os.fstat(reached.fd)
        if not stat.S_ISDIR(found.st_mode):
            return (None if trust.is_ours(found.st_uid) else found.st_uid), False
        if trust.is_shared(found):
            return trust.NOBODY_KNOWN, False
        return trust.changer(reached.fd, found), False
    finally:
        os.close(reached.folder)
        if reached.fd != -1:
            os.close(reached.fd)
