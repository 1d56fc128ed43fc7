"""Changes names, owners, modes and times. The functions are named after those of ``os``.

Every change made through this package is recorded in the context of the current call, so that a state which fails
half-way can report it: if its row names no changes, the engine puts these into it. Outside of a call nothing is
recorded.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from asyncstate.dunders.context import current, observer, seen
from asyncstate.errors import PathRefused
from asyncstate.residue import TEMPORARY
from asyncstate.value import Value

from . import place, reading, rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.dunders.context import Deed

_AT_EMPTY_PATH = 0x1000
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_NO_AUTOMOUNT = 0x800
_LOOK = _AT_EMPTY_PATH | _AT_SYMLINK_NOFOLLOW | _AT_NO_AUTOMOUNT
_STATX_SIZE = 256
_STATX_ATTRIBUTES = slice(8, 16)
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20
"""Attributes in the answer of statx(2)."""
_DEEDS: tuple[Deed, ...] = ("created", "changed", "removed", "removed in part")


class Access(Value):
    """The owner, group and permission bits to set; -1 leaves one as it is."""

    uid: int = -1
    gid: int = -1
    mode: int = -1


KEEP = Access()


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def is_fixed(name: str, folder: int, kinds: int = _IMMUTABLE | _APPEND_ONLY) -> bool:
    """Return whether an entry of an open folder is immutable or append-only: not even root may replace it.

    The name "" means what is open itself.
    """
    try:
        statx = _libc().statx
    except AttributeError:  # not of this C library
        return False
    found = ctypes.create_string_buffer(_STATX_SIZE)
    if statx(folder, os.fsencode(name), _LOOK, 0, found) != 0:
        return False
    return bool(int.from_bytes(found.raw[_STATX_ATTRIBUTES], sys.byteorder) & kinds)


def refusal(entry: place.Place) -> int:
    """Return the number of the error that making, replacing or removing an entry would raise, as far as is seen; or 0.

    The entry may be missing.
    """
    if is_fixed(".", entry.fd) or is_fixed(entry.name, entry.fd):
        return errno.EPERM
    if os.access(".", os.W_OK | os.X_OK, dir_fd=entry.fd, effective_ids=True):
        return 0
    return errno.EROFS if os.fstatvfs(entry.fd).f_flag & os.ST_RDONLY else errno.EACCES


def require_changeable(path: str, *, follow: bool = True, only_times: bool = False) -> None:
    """Raise PathRefused or OSError if setting owner, mode or times of ``path`` would. For dry runs.

    The path may be missing. ``only_times`` is for times that are set to now.
    """
    number = 0
    with suppress(OSError), place.pinned(path, follow=follow) as descriptor:
        if not foretells():
            return
        if os.fstatvfs(descriptor).f_flag & os.ST_RDONLY:
            number = errno.EROFS
        elif is_fixed("", descriptor, _IMMUTABLE if only_times else _IMMUTABLE | _APPEND_ONLY):
            number = errno.EPERM
    if number:
        raise OSError(number, os.strerror(number), path)


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
    while not reading.is_directory(folder):
        missing.append(folder)
        folder = os.path.dirname(folder) or "."
    seen(folder, "ensured")
    if not missing and not exist_ok:
        raise FileExistsError(path)
    for folder in reversed(missing):
        try:
            mkdir(folder, mode)
        except FileExistsError:
            if not reading.is_directory(folder):
                raise


def foretells() -> bool:
    """Return whether this call is a dry run with forecasts; a dry run with Salt's rows checks less."""
    call = current.get(None)
    return call is not None and bool(call.opts.get("test")) and bool(call.opts.get("foresight"))


def judges() -> bool:
    """Return whether this call refuses mistakes before its first change: in a run, and in a dry run with forecasts."""
    call = current.get(None)
    return call is None or not call.opts.get("test") or bool(call.opts.get("foresight"))


def room_for(path: str, make: Callable[[], object] | None = None, *, follow: bool = False) -> bool:
    """Return whether the folder of ``path`` exists; ``make`` makes a missing one, and returns what is in its way.

    Call it before writing a path, in a dry run too: then nothing is made, and the OSError is raised that making the
    folder, or an entry in it, would raise; with ``follow``, at the target of a link at ``path``. A dry run with Salt's
    rows does not check.
    """
    call = current.get(None)
    if call is not None and call.opts.get("test"):
        return not call.opts.get("foresight") or has_room(path, makes=make is not None, follow=follow)
    folder = os.path.dirname(path)
    if reading.is_directory(folder):
        return True
    # The path in the way may be the folder, made meanwhile by a state that runs beside this one.
    return make is not None and (not make() or reading.is_directory(folder))


def has_room(path: str, *, makes: bool = True, follow: bool = False) -> bool:
    """Return or raise what `room_for` does in a dry run."""
    if follow and (target := place.resolved(path)) != path:
        if not has_room(target, makes=False):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), target)
        return True
    missing, folder = "", os.path.dirname(path)
    while not reading.is_directory(folder or "."):
        missing, folder = folder, os.path.dirname(folder)
    if missing and (not makes or reading.exists(os.path.dirname(path))):
        return False
    if missing and reading.lexists(missing):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), missing)
    with place.parent(missing or path) as here:
        number = refusal(here)
        try:
            os.lstat(here.name, dir_fd=here.fd)  # raises for a name that is too long
        except FileNotFoundError:
            if is_of_the_kernel(here.fd):
                raise
        else:
            # Where the system cannot look at a link itself, the first answer is no for every file.
            if rule.is_root() and not os.access(here.name, os.W_OK, dir_fd=here.fd, follow_symlinks=False):
                number = number or (_is_read_only(here) and errno.EROFS)  # a file that is mounted there
        if number:
            raise OSError(number, os.strerror(number), missing or path)
    return True


def _is_read_only(entry: place.Place) -> bool:
    descriptor = entry.open(os.O_PATH)
    try:
        return bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)
    finally:
        os.close(descriptor)


def is_of_the_kernel(folder: int) -> bool:
    """Return whether only the kernel makes entries in a folder, at any mode."""
    device = os.fstat(folder).st_dev
    return any(os.path.ismount(root) and os.stat(root).st_dev == device for root in ("/proc", "/sys"))


def refused_owners(uid: object, gid: object, found: os.stat_result | None = None) -> list[str]:
    """Return which of "user" and "group" a run could not give to the file ``found``, or to a new one.

    None and -1 leave one alone; an account that does not exist is "". Empty except in a dry run with forecasts.
    """
    if not foretells():
        return []
    own, group = os.geteuid(), os.getegid()
    refused = []
    if uid not in {None, -1, own if found is None else found.st_uid} and (own != 0 or uid == ""):
        refused.append("user")
    givable = {None, -1, group if found is None else found.st_gid, *((group, *os.getgroups()) if own else ())}
    if gid not in givable and (own != 0 or gid == ""):
        refused.append("group")
    return refused


def remove(path: str) -> None:
    """Remove a file or a link, never the link's target."""
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


def note(path: str, deed: Deed) -> None:
    """Record a change of ``path``. A file that the call made and removed again leaves no record."""
    watching = observer.get()
    if watching is not None:
        watching.saw(os.path.abspath(path), deed)
    call = current.get(None)
    if call is None:
        return
    path = path.rstrip("/") or path
    done, before = call.done, call.done.get(path)
    if before == TEMPORARY and deed == "removed":
        return
    if deed == "removed" and before == "created":
        del done[path]
    elif deed == "created" and before not in {None, TEMPORARY}:
        done[path] = "changed"
    elif deed != "changed" or before is None:
        done[path] = deed


def note_renamed(source: str, target: str, *, new: bool) -> None:
    """Record that ``source`` was renamed to ``target``; ``new`` if ``target`` did not exist."""
    note(source, "removed")
    note(target, "created" if new else "changed")


def changes_so_far() -> dict[str, list[str]]:
    """Return the changes of the current call: lists of paths, in order, under the kind of change.

    The keys are "created", "changed", "removed" and "removed in part" (a directory); a key without paths is left out.
    So are the cache directory with its files and the folders made for it, and temporary files that no longer exist.
    """
    call = current.get(None)
    if call is None or not call.done:
        return {}
    deeds = list(call.done.items())  # a copy: a thread of a call that was cut off may still add to it
    cache = os.path.join(str(call.base_opts.get("cachedir") or "\0"), "")
    internal = (cache, *(os.path.join(path, "") for path, done in deeds if done == TEMPORARY))
    found: dict[str, list[str]] = {
        deed: [
            path
            for path, done in deeds
            if done == deed
            and not path.startswith(internal)
            and not cache.startswith(os.path.join(path, ""))
            and (done == "removed" or _stands(path))
        ]
        for deed in _DEEDS
    }
    return {deed: paths for deed, paths in found.items() if paths}


def _stands(path: str) -> bool:
    try:
        return reading.lexists(path)
    except (PathRefused, OSError):
        return True
