"""Finds the users who can change what root trusts.

Files that root runs or reads as its own (plugins, configuration), and paths given to other programs, which open them by
name and cannot be given a descriptor.
"""

from __future__ import annotations

import os
import stat

from asyncstate.errors import PathRefused

from . import change, place, reading, rule


def who_can_change(path: str) -> str:
    """Return who besides root can change or replace the file at ``path``, for example ``user bob``; "" for no one.

    In a process that is not root it is always "", because that process has the rights of its user only. Raises OSError
    if nothing exists at ``path``.
    """
    if not rule.is_root():
        return ""
    user = rule.user_on_the_way(place.absolute(path))
    return "" if user is None else rule.name_of(user)


def writable_below(folder: str, suffixes: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the paths in a folder of code that other users can change, with the user: ``("/srv/x.py", "user bob")``.

    They are the folder, its subfolders, and files with one of ``suffixes``; the content of a folder that others can
    change is not listed. Empty if the folder does not exist, and in a process that is not root.
    """
    if not rule.is_root() or not os.path.isdir(folder):
        return []
    found: list[tuple[str, str]] = []
    for at, folders, files in os.walk(folder, topdown=True):
        if user := who_can_change(at):
            found.append((at, user))
            folders.clear()
            continue
        code = [name for name in files if name.endswith(suffixes)]
        code += [name for name in folders if os.path.islink(os.path.join(at, name))]
        paths = [os.path.join(at, name) for name in code]
        found += [(path, user) for path in paths if (user := _changer_of_entry(path))]
    return found


def _changer_of_entry(path: str) -> str:
    """Return who can change an entry of a folder that only root can change."""
    try:
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and rule.is_ours(found.st_uid) and not found.st_mode & rule.WRITABLE:
            return ""
        return who_can_change(path)
    except OSError:
        return ""  # removed meanwhile, or a dangling link: nothing to run


def require_unshared(path: str, program: str, user: str | None = None, *, make: bool = False) -> None:
    """Raise PathRefused if users other than root can redirect what ``program`` does at and below ``path``.

    A program that runs as a ``user`` other than root has only the rights of that user, so its path is not checked. With
    ``make``, a directory that is missing in a folder like ``/tmp`` is created, so that no other user creates it first.
    """
    if not rule.is_root() or user not in (None, "", "root"):
        return
    path = place.absolute(path).rstrip("/") or "/"
    who, shared = _who_changes(path)
    if who is not None:
        raise PathRefused(
            f"Refusing to run {program} as root in {path}: {rule.name_of(who)} can replace files there meanwhile. "
            "Run it as the owner of that folder (`user`), or let only root write to every folder on the way."
        )
    if shared and make:
        change.mkdir(path)


def require_own_place(path: str, program: str, user: str | None = None) -> None:
    """Raise PathRefused if users other than root can replace the entry at ``path``, whoever owns it now.

    For programs that put something over a path and not below it, as mount does. The path need not exist. ``user`` is
    as in `require_unshared`.
    """
    if not rule.is_root() or user not in (None, "", "root"):
        return
    path = place.absolute(path).rstrip("/") or "/"
    try:
        who = rule.user_on_the_way(path, within=False)
    except FileNotFoundError:
        who = _who_changes(path)[0]
    if who is not None:
        raise PathRefused(
            f"Refusing to run {program} as root on {path}: {rule.name_of(who)} can put something else there. Let "
            "only root write to every folder on the way."
        )


def _who_changes(path: str) -> tuple[int | None, bool]:
    """Return who can change the entry at ``path`` or above, and whether it is missing in a folder all may write to."""
    try:
        return rule.user_on_the_way(path), False
    except FileNotFoundError:
        above = os.path.dirname(path)
    try:
        if rule.is_shared(reading.stat(above)):
            return rule.user_on_the_way(os.path.dirname(above)), True
    except FileNotFoundError:
        pass
    return _who_changes(above)[0], False
