"""Finds the users who can change a file that root runs or trusts: plugins and configuration."""

from __future__ import annotations

import os
import stat

from . import place, steps, trust


def who_can_change(path: str) -> str:
    """Return who besides root can change or replace the file at ``path``, for example ``user bob``; "" for no one.

    In a process that is not root it is always "", because that process has the rights of its user only. Raises OSError
    if nothing exists at ``path``.
    """
    if not trust.is_root():
        return ""
    user = steps.user_on_the_way(place.absolute(path))
    return "" if user is None else trust.name_of(user)


def writable_below(folder: str, suffixes: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the paths in a folder of code that other users can change, with the user: ``("/srv/x.py", "user bob")``.

    They are the folder, its subfolders, and files with one of ``suffixes``; the content of a folder that others can
    change is not listed. Empty if the folder does not exist, and in a process that is not root.
    """
    if not trust.is_root() or not os.path.isdir(folder):
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
        if stat.S_ISREG(found.st_mode) and trust.is_ours(found.st_uid) and not found.st_mode & trust.WRITABLE:
            return ""
        return who_can_change(path)
    except OSError:
        return ""  # removed meanwhile, or a dangling link: nothing to run
