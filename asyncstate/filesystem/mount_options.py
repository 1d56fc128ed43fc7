"""Mount options that the kernel refuses, by ``fsopen(2)`` and ``fsconfig(2)``; nothing is mounted."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FSOPEN, _FSCONFIG = 430, 431
"""The numbers of the system calls on every architecture except alpha and mips."""
_OTHER_NUMBERS = ("alpha", "mips")
_CLOEXEC = 1
_SET_FLAG, _SET_STRING = 0, 1
_OF_THE_OPTION = frozenset({errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.ERANGE, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors because of an option. Others say that this process may not ask, or that the kernel has no such call."""


def refused_option(fstype: str, options: Iterable[str]) -> str:
    """Return the kernel's words about the first of these options that a known type of file system refuses, "" for none.

    ``options`` are those of the file system, without the ones that the program mount keeps for itself. A type that
    takes all options as they come refuses them later, when it is mounted, and so do options that depend on the device.
    """
    if os.uname().machine.startswith(_OTHER_NUMBERS):
        return ""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    context = syscall(_FSOPEN, os.fsencode(fstype), _CLOEXEC)
    if context < 0:
        return ""
    try:
        for option in options:
            key, equals, value = option.partition("=")
            given = os.fsencode(value) if equals else None
            if syscall(_FSCONFIG, context, _SET_STRING if equals else _SET_FLAG, os.fsencode(key), given, 0) < 0:
                number = ctypes.get_errno()
                if number in _OF_THE_OPTION:
                    return f"{fstype} refuses the option {option}: {_words(context) or os.strerror(number)}"
    finally:
        os.close(context)
    return ""


def _words(context: int) -> str:
    """Return the last message that the kernel keeps with a context, "" if it has none."""
    said = ""
    with suppress(OSError):  # it has no more
        while line := os.read(context, 4096).decode(errors="replace").strip():
            said = line
    return said.partition(" ")[2]
