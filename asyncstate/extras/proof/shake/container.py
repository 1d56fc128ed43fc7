"""Runs a program in another root, as in a container: it can reach neither the old root nor the kernel.

The caller has namespaces of its own already, and is their process 1 (``unshare --mount --pid --fork``).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 12, 13, 18, 23, 27, 29, 31})
"""The capabilities of root inside, as in other containers: files, users, signals, network; nothing of the kernel."""

_NEW_MOUNT_NAMESPACE = 0x00020000
_DETACH = 2
_DROP_FROM_BOUNDING_SET = 24
_NOT_ENTERED = 71


def run_contained(
    argv: list[str], env: Mapping[str, str], root: str, old_root: str, *, stdin: bytes, stdout: int
) -> int:
    """Run a program to its end, and reap orphans meanwhile. Returns its exit code, negative for a signal.

    ``root`` is the mount point that becomes ``/``; ``old_root``, an empty folder in it as seen from inside, holds the
    old root for a moment. ``stdout`` is a descriptor. The code is 71 if the root cannot be entered; standard error
    says why.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        _become(argv, env, root, old_root, reading, stdout)
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        stream.write(stdin)
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _become(  # noqa: PLR0917 - as above
    argv: list[str], env: Mapping[str, str], root: str, old_root: str, stdin: int, stdout: int
) -> NoReturn:
    """Enter the root for good, drop the rights that a container must not have, and become the program."""
    try:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        libc = ctypes.CDLL(None, use_errno=True)
        _checked(libc.unshare(_NEW_MOUNT_NAMESPACE))
        os.chdir(root)
        subprocess.run(["pivot_root", ".", f".{old_root}"], check=True, stdin=subprocess.DEVNULL)
        os.chdir("/")
        _checked(libc.umount2(old_root.encode(), _DETACH))
        for capability in range(64):
            if capability not in CAPABILITIES:
                libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)
        os.umask(0o022)
        os.execve(argv[0], argv, env)  # noqa: S606 - no shell is wanted
    except BaseException as error:  # noqa: BLE001 - a forked process must never return into its parent's code
        os.write(2, f"the root cannot be entered: {error}\n".encode())
    finally:
        os._exit(_NOT_ENTERED)


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
