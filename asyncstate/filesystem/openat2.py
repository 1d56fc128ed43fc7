"""``openat2(2)``: the kernel resolves a whole path without following links."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from typing import Any

_NUMBER = 437
"""The number of the system call on every architecture except alpha and mips."""
_OTHER_NUMBERS = ("alpha", "mips")
_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_TRIES = 100
"""Attempts at a lookup that concurrent renames of directories disturb (EAGAIN)."""
_MISSING = {errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL}
"""The errors of a kernel that lacks the call, or of a container that forbids it."""
UNDECIDED = {errno.ELOOP, errno.EACCES}
"""The errors after which a path is walked part by part: a link is on the way, or one in a sticky folder that the kernel
follows for its owner only (``fs.protected_symlinks``). The rule of this package decides, in dry runs and in runs."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_How)


@cache
def _how(flags: int, resolve: int) -> Any:
    """Return the argument of the call. The kernel only reads it, so all threads can share it."""
    return ctypes.byref(_How(flags | os.O_CLOEXEC, 0, resolve))


@cache
def is_available() -> bool:
    """Whether the call can be used on this system."""
    if os.uname().sysname != "Linux" or os.uname().machine.startswith(_OTHER_NUMBERS):
        return False
    try:
        os.close(open_without_links("/", os.O_PATH))
    except OSError as error:
        if error.errno in _MISSING:
            return False
        raise
    return True


@cache
def _syscall() -> ctypes._FuncPointer:
    return ctypes.CDLL(None, use_errno=True).syscall


def open_without_links(path: str, flags: int) -> int:
    """Open an absolute path. Raises OSError, with an error of `UNDECIDED` if a part of the path is a symbolic link.

    With ``O_PATH | O_NOFOLLOW`` the last part may be a link; then the link itself is opened. Audit hooks see
    files opened for reading or writing, as from ``os.open``.
    """
    if not flags & os.O_PATH:
        sys.audit("open", path, None, flags)
    return _open(_AT_FDCWD, path, _how(flags, _RESOLVE_NO_SYMLINKS))


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open a relative path. Raises OSError, with EXDEV if a link or ``..`` would leave ``folder``."""
    for _ in range(_TRIES):
        try:
            return _open(folder, path, _how(flags, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS))
        except BlockingIOError as error:
            failed = error
    raise failed


def _open(folder: int, path: str, how: Any) -> int:
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ValueError("embedded null byte")
    descriptor: int = _syscall()(_NUMBER, folder, raw, how, _SIZE)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return descriptor
