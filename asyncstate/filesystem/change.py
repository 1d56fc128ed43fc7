"""Changes names, owners, modes and times. The functions are named after those of ``os``."""

from __future__ import annotations

import ctypes
import os
import stat
from functools import cache
from typing import NamedTuple

from . import place, query
from .journal import note, note_renamed
from .sight import seen

_AT_EMPTY_PATH = 0x1000


class Access(NamedTuple):
    """The owner, group and permission bits that a file should get; -1 leaves one as it is."""

    uid: int = -1
    gid: int = -1
    mode: int = -1


KEEP = Access()


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def give_descriptor(descriptor: int, access: Access) -> None:
    """Set owner and mode through an ``O_PATH`` descriptor. A symbolic link has no mode, so it only gets the owner.

    The owner is set first, because that clears set-user-ID bits.
    """
    if access.uid != -1 or access.gid != -1:
        done = _libc().fchownat(
            descriptor, b"", ctypes.c_uint32(access.uid), ctypes.c_uint32(access.gid), _AT_EMPTY_PATH
        )
        if done != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    if access.mode != -1 and not stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.chmod(f"/proc/self/fd/{descriptor}", access.mode)


def give(path: str, access: Access, *, follow: bool = True) -> None:
    """Set owner and mode of ``path``. Without ``follow``, set the owner of a symbolic link itself."""
    if access != KEEP:
        with place.pinned(path, follow=follow) as descriptor:
            try:
                give_descriptor(descriptor, access)
            except OSError as error:
                error.filename = path
                raise
        note(path, "changed")


def set_times(path: str, times: tuple[float, float] | None) -> None:
    """Set access and modification time, in seconds since the epoch; None means now. Links are followed."""
    with place.pinned(path) as descriptor:
        os.utime(f"/proc/self/fd/{descriptor}", times)
    note(path, "changed")


def mkdir(path: str, mode: int = 0o777) -> None:
    """Make a directory."""
    with place.parent(path) as here:
        os.mkdir(here.name, mode, dir_fd=here.fd)
    seen(path, "ensured")
    note(path, "created")


def makedirs(path: str, mode: int = 0o777, *, exist_ok: bool = True) -> None:
    """Make a directory and its missing parents, all with ``mode``."""
    missing = []
    folder = path.rstrip("/") or path[:1]
    while not query.is_directory(folder):
        missing.append(folder)
        folder = os.path.dirname(folder) or "."
    seen(folder, "ensured")
    if not missing and not exist_ok:
        raise FileExistsError(path)
    for folder in reversed(missing):
        try:
            mkdir(folder, mode)
        except FileExistsError:
            if not query.is_directory(folder):
                raise


def remove(path: str) -> None:
    """Remove a file or a link, never what it leads to."""
    with place.parent(path) as here:
        os.unlink(here.name, dir_fd=here.fd)
    note(path, "removed")


def rmdir(path: str) -> None:
    """Remove an empty directory."""
    with place.parent(path) as here:
        os.rmdir(here.name, dir_fd=here.fd)
    note(path, "removed")


def rename(source: str, target: str) -> None:
    """Rename within a file system and replace ``target`` if it exists. Links are renamed themselves."""
    with place.parent(source) as here, place.parent(target) as there:
        is_new = not there.is_taken()
        os.rename(here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd)
    note_renamed(source, target, new=is_new)


def link(source: str, target: str) -> None:
    """Make ``target`` a hard link to ``source``."""
    with place.parent(source) as here, place.parent(target) as there:
        os.link(here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd, follow_symlinks=False)
    note(target, "created")


def symlink(text: str, path: str) -> None:
    """Make ``path`` a symbolic link that holds ``text``."""
    with place.parent(path) as here:
        os.symlink(text, here.name, dir_fd=here.fd)
    note(path, "created")


def mknod(path: str, mode: int, device: int = 0) -> None:
    """Make a device or a pipe."""
    with place.parent(path) as here:
        os.mknod(here.name, mode, device, dir_fd=here.fd)
    note(path, "created")
