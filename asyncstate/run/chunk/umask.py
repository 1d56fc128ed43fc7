"""A umask for one call in one thread: the process has other threads, whose umask must not change."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_CLONE_FS = 0x200
"""Linux: umask, working directory and root, which threads share unless one calls `unshare`."""


def call_with_umask(umask: int, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that creates files in this thread with ``umask``.

    If the system cannot give a thread its own umask, the whole process gets it for that time. That is safe, since
    such a state runs alone.
    """
    _leave_shared_umask()
    before = os.umask(umask)
    try:
        return func(*args, **kwargs)
    finally:
        os.umask(before)


def _leave_shared_umask() -> None:
    """Give this thread its own umask and working directory, unless it has them already."""
    unshare = _unshare()
    if unshare is not None:
        unshare(_CLONE_FS)


@cache
def _unshare() -> Any:
    return getattr(ctypes.CDLL(None), "unshare", None) if sys.platform == "linux" else None
