"""``openat2(2)``: the kernel resolves a whole path and follows no link in it."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Any

_NUMBER = 437
"""The same on every architecture but alpha and mips."""
_OTHER_NUMBERS = ("alpha", "mips")
_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_TRIES = 100
"""So often a look-up may be disturbed by renamed directories before it is an error."""
_MISSING = {errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL}
"""What a kernel, or the filter of a container, says that has no such call."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_How)


@cache
def _how(flags: int, resolve: int) -> Any:
    """Return the argument as the call takes it; the kernel only reads it, so all threads share it."""
    return ctypes.byref(_How(flags | os.O_CLOEXEC, 0, resolve))


@cache
def is_available() -> bool:
    """Tell whether the call can be used here."""
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
    """Open an absolute path; OSError, with ELOOP if any part of it is a symbolic link.

    With ``O_PATH | O_NOFOLLOW`` the last part may be one: it is opened itself.
    """
    return _open(_AT_FDCWD, path, _how(flags, _RESOLVE_NO_SYMLINKS))


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open a relative path; OSError, with EXDEV if it would leave ``folder``, be it by a link or by ``..``."""
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
