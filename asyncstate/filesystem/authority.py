"""Who can change what we run or believe: plugins, configuration."""

from __future__ import annotations

import os
import stat

from . import place, steps, trust


def who_can_change(path: str) -> str:
    """Return who, root apart, can change what ``path`` leads to, or put something else there: ``user bob``.

    "" for nobody, and always in a process that is not root: it runs with the rights of its user alone. Where only root
    can change every folder on the way and the thing itself, the answer stays true for as long as root lets it.
    OSError if there is nothing at ``path``.
    """
    if not trust.is_root():
        return ""
    user = steps.user_on_the_way(place.absolute(path))
    return "" if user is None else trust.name_of(user)


def writable_below(folder: str, suffixes: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the paths in a folder of code that others can change, each with who can: ``("/srv/x.py", "user bob")``.

    Looked at are the folder, its subfolders, and the files with one of ``suffixes``. Of a folder that can be changed
    the content is not listed. Empty if there is no such folder, and in a process that is not root.
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
        return ""  # gone, or a link to nothing: there is nothing to run
