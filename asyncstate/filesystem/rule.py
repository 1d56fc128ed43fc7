"""The rule of this package: who can change a folder, and so all below it, and which links root therefore follows.

A path without links is opened in one call of the kernel, ``openat2(2)``. If it has links, or the kernel has no such
call, it is walked part by part.
"""

from __future__ import annotations

import ctypes
import errno
import grp
import os
import pwd
import stat
import sys
from functools import cache
from typing import Any

from asyncstate.errors import PathRefused
from asyncstate.value import Value

NOBODY_KNOWN = -1
"""The ID of users who cannot be named: all others, or the members of a group."""
WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_ACCOUNTS = ("/etc/passwd", "/etc/group")
_ACCESS_LIST = "system.posix_acl_access"

_NUMBER = 437
"""The number of the system call openat2 on every architecture except alpha and mips."""
_OTHER_NUMBERS = ("alpha", "mips")
_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_TRIES = 100
"""Attempts at a lookup that concurrent renames of directories disturb (EAGAIN)."""
_MISSING = {errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL}
"""The errors of a kernel that lacks the call, or of a container that forbids it."""
_UNDECIDED = {errno.ELOOP, errno.EACCES}
"""The errors after which a path is walked part by part: a link is on the way, or one in a sticky folder that the kernel
follows for its owner only (``fs.protected_symlinks``). The rule of this package decides, in dry runs and in runs."""

LINKS = 40
"""The number of links followed before ELOOP: the kernel's."""
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def is_root() -> bool:
    """Return whether this process runs as root: paths are refused only if it has more rights than other users."""
    return os.geteuid() == 0


@cache
def _owner_of_everything() -> int:
    """Return the owner of ``/``, who can change everything: root, or the user mapped to root in a user namespace."""
    return os.stat("/").st_uid


def is_ours(uid: int) -> bool:
    """Return whether ``uid`` is root, or the owner of ``/``."""
    return uid == 0 or uid == _owner_of_everything()


def changer(descriptor: int, found: os.stat_result) -> int | None:
    """Return the user other than root who can change a folder's content; None for no one, `NOBODY_KNOWN` for many.

    A sticky folder of root counts as root's alone, because others cannot remove root's entries in it. See `is_shared`.
    """
    if not is_ours(found.st_uid):
        return found.st_uid
    if not found.st_mode & WRITABLE or is_shared(found):
        return None
    if found.st_mode & stat.S_IWOTH or _has_members(found.st_gid) or _has_access_list(descriptor):
        return NOBODY_KNOWN
    return None


def is_shared(found: os.stat_result) -> bool:
    """Return whether a folder is sticky, like ``/tmp``: others may create files in it, and remove only their own."""
    return bool(found.st_mode & WRITABLE) and bool(found.st_mode & stat.S_ISVTX) and is_ours(found.st_uid)


def _has_members(gid: int) -> bool:
    """Return whether a group has members other than root. Debian's ``staff``, the group of ``/usr/local``, has none."""
    return gid != 0 and _looked_up(gid, _stamps())


def _stamps() -> tuple[int, ...]:
    """Return the times at which the account files last changed: an earlier state may have added a user to a group."""
    return tuple(os.stat(path).st_mtime_ns for path in _ACCOUNTS if os.path.exists(path))


@cache
def _looked_up(gid: int, stamps: tuple[int, ...]) -> bool:  # noqa: ARG001 - part of the cache's key
    if any(entry.pw_gid == gid and entry.pw_uid != 0 for entry in pwd.getpwall()):
        return True
    try:
        return any(member != "root" for member in grp.getgrgid(gid).gr_mem)
    except KeyError:
        return True


def _has_access_list(descriptor: int) -> bool:
    """Return whether a folder's group permissions come from an access control list, which names others."""
    try:
        return _ACCESS_LIST in os.listxattr(f"/proc/self/fd/{descriptor}")
    except OSError:
        return False


def name_of(uid: int) -> str:
    """Return the name of a user for a message: ``user www-data``."""
    if uid == NOBODY_KNOWN:
        return "others than root"
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_How)


@cache
def _how(flags: int, resolve: int) -> Any:
    """Return the argument of the call. The kernel only reads it, so all threads can share it."""
    return ctypes.byref(_How(flags | os.O_CLOEXEC, 0, resolve))


@cache
def has_openat2() -> bool:
    """Whether the call openat2 can be used on this system."""
    if os.uname().sysname != "Linux" or os.uname().machine.startswith(_OTHER_NUMBERS):
        return False
    try:
        os.close(_openat2(_AT_FDCWD, "/", _how(os.O_PATH, _RESOLVE_NO_SYMLINKS)))
    except OSError as error:
        if error.errno in _MISSING:
            return False
        raise
    return True


@cache
def _syscall() -> ctypes._FuncPointer:
    return ctypes.CDLL(None, use_errno=True).syscall


def open_without_links(path: str, flags: int) -> int | None:
    """Open an absolute path in one call; None if a part of it is a symbolic link, so that `walk` has to decide.

    So it is for ``..``, and on a system without openat2. With ``O_PATH | O_NOFOLLOW`` the last part may be a link; then
    the link itself is opened. Audit hooks see files opened for reading or writing, as from ``os.open``. Raises OSError.
    """
    if "/.." in path or not has_openat2():
        return None
    if not flags & os.O_PATH:
        sys.audit("open", path, None, flags)
    try:
        return _openat2(_AT_FDCWD, path, _how(flags, _RESOLVE_NO_SYMLINKS))
    except OSError as error:
        if error.errno in _UNDECIDED:
            return None
        raise


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open a relative path. Raises OSError, with EXDEV if a link or ``..`` would leave ``folder``."""
    for _ in range(_TRIES):
        try:
            return _openat2(folder, path, _how(flags, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS))
        except BlockingIOError as error:
            failed = error
    raise failed


def _openat2(folder: int, path: str, how: Any) -> int:
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ValueError("embedded null byte")
    descriptor: int = _syscall()(_NUMBER, folder, raw, how, _SIZE)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return descriptor


class Reached(Value):
    """The end of a path.

    ``fd`` is the file it names, -1 if there is none (yet); ``folder`` contains it, under ``name``. Both are ``O_PATH``
    descriptors, which the caller closes. ``path`` is the given path, with links at its end resolved.
    """

    fd: int
    folder: int
    name: str
    path: str


class _Doubt(Value):
    """A link on the way that ``uid`` could have put there."""

    link: str
    uid: int


def walk(path: str, *, follow: bool) -> Reached:
    """Follow an absolute path by the rule of this package; with ``follow`` a link at its end is followed too.

    Raises OSError as the kernel does; PathRefused for a link that others could have put there.
    """
    steps = _Steps(path, follow=follow)
    try:
        fd = steps.take()
        steps.settle(fd)
    except BaseException:
        steps.close()
        raise
    return Reached(fd, steps.folder, steps.name, steps.path)


def user_on_the_way(path: str, *, within: bool = True) -> int | None:
    """Return a user other than root who can change where an absolute path leads, or what is there; None if none can.

    Stricter than `walk`: a folder like ``/tmp`` counts as one that all users can change. Without ``within``, users who
    can only change the content of the folder at the end do not count. Raises OSError as the kernel does, also
    FileNotFoundError if nothing is there.
    """
    steps = _Steps(path, follow=True)
    try:
        fd = steps.take()
        if fd == -1:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        try:
            found = os.fstat(fd)
            if within:
                own = NOBODY_KNOWN if is_shared(found) else changer(fd, found)
            else:
                is_theirs = is_shared(steps.found) and not is_ours(found.st_uid)
                own = found.st_uid if is_theirs else None
        finally:
            os.close(fd)
        if steps.doubts:
            return steps.doubts[0].uid
        return steps.changer if steps.changer is not None else own
    finally:
        steps.close()


class _Steps:
    def __init__(self, path: str, *, follow: bool) -> None:
        self.path = path
        self.follow = follow or path.endswith("/")
        self.todo = _parts(path)
        self.doubts: list[_Doubt] = []
        self.hops = 0
        self.folder = -1
        self.name = "."
        self._start()

    def _start(self) -> None:
        """Go to ``/``. Users who can change folders on the way here cannot change this one, so `changer` is reset."""
        self.close()
        self.folder = os.open("/", _FOLDER)
        self.found = os.fstat(self.folder)
        self.changer = changer(self.folder, self.found)
        self.at = "/"
        self.name = "."

    def close(self) -> None:
        if self.folder != -1:
            os.close(self.folder)
            self.folder = -1

    def take(self) -> int:
        """Walk to the end of the path; return a descriptor of the entry there, -1 if there is none."""
        if not self.todo:
            return os.open(".", _ANY, dir_fd=self.folder)
        while True:
            self.name = self.todo.pop()
            if self.name == ".." and self.changer is not None:
                self.doubts.append(_Doubt(self.at, self.changer))
            try:
                inner = os.open(self.name, _ANY, dir_fd=self.folder)
            except FileNotFoundError as error:
                if self.todo:
                    error.filename = self.path
                    raise
                return -1
            except OSError as error:
                error.filename = self.path
                raise
            found = os.fstat(inner)
            if stat.S_ISLNK(found.st_mode) and (self.todo or self.follow):
                magic = self._follow(inner, found)
                if magic is None:
                    continue
                os.close(inner)
                inner, found = magic, os.fstat(magic)
            if not self.todo:
                return inner
            self._enter(inner, found)

    def _enter(self, inner: int, found: os.stat_result) -> None:
        self.close()
        self.folder, self.found = inner, found
        self.at = os.path.join(self.at, self.name)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path)
        if self.changer is None:
            self.changer = changer(inner, found)

    def _follow(self, link: int, found: os.stat_result) -> int | None:
        """Replace a link by its target in the parts to do; return a descriptor if only the kernel knows the target."""
        where = os.path.join(self.at, self.name)
        self.hops += 1
        if self.hops > LINKS:
            os.close(link)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path)
        owner_counts = self.changer is not None or is_shared(self.found)
        if owner_counts and not is_ours(found.st_uid):
            self.doubts.append(_Doubt(where, found.st_uid))
        if self.changer is not None:
            self.doubts.append(_Doubt(where, self.changer))
        target = os.readlink("", dir_fd=link)
        if ":[" in target and not target.startswith("/") and not self.doubts:
            return os.open(self.name, os.O_PATH | os.O_CLOEXEC, dir_fd=self.folder)  # /proc/self/fd/0 and the like
        os.close(link)
        if not self.todo:
            self.path = os.path.join(os.path.dirname(self.path.rstrip("/")), target)
        self.todo += _parts(target)
        if target.startswith("/"):
            self._start()
        if not self.todo:
            self.todo.append(".")
        return None

    def settle(self, fd: int) -> None:
        """Raise PathRefused unless the file reached belongs to each user who could have put a link on the way."""
        if not self.doubts:
            return
        end = self.folder if fd == -1 else fd
        owner = os.fstat(end).st_uid
        for doubt in self.doubts:
            if doubt.uid != owner:
                if fd != -1:
                    os.close(fd)
                raise PathRefused(_refusal(doubt.link, doubt.uid, end if fd == -1 else self.folder, owner))


def _refusal(link: str, uid: int, folder: int, owner: int) -> str:
    try:
        place = os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        place = "elsewhere"
    return (
        f"Refusing to follow the symbolic link {link}: {name_of(uid)} can change it, and it leads to {place}, "
        f"which belongs to {name_of(owner)}. Name the path it leads to, or let only root change the way there."
    )


def _parts(path: str) -> list[str]:
    """Return the parts of a path, the last one first, without ``.`` and empty parts."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
