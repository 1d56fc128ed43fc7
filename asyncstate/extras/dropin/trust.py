"""Trust in the user behind sudo: provisioners run ``sudo salt-call`` on trees in that user's folders.

Root follows no configuration and loads no plugin that others can change. A user who may run ``sudo salt-call`` decides
anyway what root does, so files that only this user can change are trusted here as if they were root's.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.config import Settings

_CONFIGURATION = (".conf", "minion", "grains")


def trusts_configuration(files: list[str]) -> bool:
    """Return whether only the user behind sudo, besides root, can change configuration files and those beside them."""
    caller = _Caller.found()
    if caller is None:
        return False
    from asyncstate import filesystem

    folders = (os.path.dirname(file) or os.curdir for file in files)
    beside = [path for folder in folders for path, _ in filesystem.writable_below(folder, _CONFIGURATION)]
    return all(caller.alone_changes(path) for path in [*files, *beside])


def trust_plugins(settings: Settings) -> None:
    """Let plugins be loaded that only the user behind sudo, besides root, can change."""
    caller = _Caller.found()
    if caller is None:
        return
    from asyncstate.load.folders import writable_plugins
    from asyncstate.sources.fileclient import LocalFileClient

    opts = settings.opts()
    found = writable_plugins(opts, LocalFileClient.from_opts(opts))
    settings.trust_writable = bool(found) and all(caller.alone_changes(path) for path, _ in found)


class _Caller(NamedTuple):
    """The user who started this process as root with sudo, and the group of that user."""

    uid: int
    gid: int

    @classmethod
    def found(cls) -> Self | None:
        """Return the user, from the variables that sudo sets; None without sudo. Only root could forge them."""
        uid, gid = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
        if os.geteuid() != 0 or not uid.isdecimal() or uid == "0":
            return None
        return cls(int(uid), int(gid) if gid.isdecimal() else 0)

    def alone_changes(self, path: str) -> bool:
        """Return whether only root and this user can change a path, the folders above it, and everything below it."""
        path = os.path.abspath(path)
        try:
            ways = dict.fromkeys([*_way(path), *_way(os.path.realpath(path)), *_below(path)])
            return all(self._is_theirs(os.lstat(each)) for each in ways)
        except OSError:
            return False

    def _is_theirs(self, found: os.stat_result) -> bool:
        if found.st_uid not in {0, self.uid}:
            return False
        if stat.S_ISLNK(found.st_mode):
            return True
        if found.st_uid == 0 and stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
            return True
        if found.st_mode & stat.S_IWOTH:
            return False
        return not found.st_mode & stat.S_IWGRP or found.st_gid in {0, self.gid}


def _way(path: str) -> Iterator[str]:
    while True:
        yield path
        path, before = os.path.dirname(path), path
        if path == before:
            return


def _below(path: str) -> Iterator[str]:
    """Yield the paths in a folder, and the targets of its links."""
    for at, folders, files in os.walk(path):
        for name in (*folders, *files):
            each = os.path.join(at, name)
            yield each
            if os.path.islink(each):
                yield from _way(os.path.realpath(each))
