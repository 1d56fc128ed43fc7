"""Device nodes and named pipes."""

from __future__ import annotations

import os
import stat
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, changed, failed, is_dry_run, would_change
from asyncstate.errors import InvocationError

from .paths import expand
from .perms import check_perms, makedirs_

_KINDS = {
    "c": (stat.S_IFCHR, "Character device"),
    "b": (stat.S_IFBLK, "Block device"),
    "p": (stat.S_IFIFO, "Fifo pipe"),
}


def _is(name: str, kind: int) -> bool:
    try:
        return stat.S_IFMT(filesystem.stat(expand(name)).st_mode) == kind
    except FileNotFoundError:
        return False


def is_chrdev(name: str) -> bool:
    """Return whether ``name`` is a character device."""
    return _is(name, stat.S_IFCHR)


def is_blkdev(name: str) -> bool:
    """Return whether ``name`` is a block device."""
    return _is(name, stat.S_IFBLK)


def is_fifo(name: str) -> bool:
    """Return whether ``name`` is a named pipe."""
    return _is(name, stat.S_IFIFO)


def get_devmm(name: str) -> tuple[int, int]:
    """Return major and minor number of a device, (0, 0) for anything else."""
    if not (is_chrdev(name) or is_blkdev(name)):
        return 0, 0
    device = filesystem.stat(expand(name)).st_rdev
    return os.major(device), os.minor(device)


def mknod(
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: Any = None,
    group: Any = None,
    mode: Any = "0600",
) -> Row:
    """Make a character device (``c``), block device (``b``) or pipe (``p``), and its directory."""
    if ntype not in _KINDS:
        raise InvocationError(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'), and pipe ('p')."
        )
    makedirs_(name, user, group)
    return _make(name, ntype, major, minor, user, group, mode)


def mknod_chrdev(name: str, major: int, minor: int, user: Any = None, group: Any = None, mode: Any = "0660") -> Row:
    """Make a character device."""
    return _make(name, "c", major, minor, user, group, mode)


def mknod_blkdev(name: str, major: int, minor: int, user: Any = None, group: Any = None, mode: Any = "0660") -> Row:
    """Make a block device."""
    return _make(name, "b", major, minor, user, group, mode)


def mknod_fifo(name: str, user: Any = None, group: Any = None, mode: Any = "0660") -> Row:
    """Make a named pipe."""
    return _make(name, "p", 0, 0, user, group, mode)


def _make(name: str, ntype: str, major: int, minor: int, user: Any, group: Any, mode: Any) -> Row:
    name = expand(name)
    kind, title = _KINDS[ntype]
    changes = {"new": f"{title} {name} created."}
    if is_dry_run():
        return would_change(name, "", changes)
    try:
        filesystem.mknod(name, 0o600 | kind, 0 if ntype == "p" else os.makedev(major, minor))
    except FileExistsError:
        return failed(name, f"File {name} exists and cannot be overwritten")
    check_perms(name, None, user, group, mode or None)
    return changed(name, "", changes)
