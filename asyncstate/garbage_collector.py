"""Keeps Python's cyclic garbage collector from walking a large document while it is being built.

Composing a big SLS makes many containers and no cycles; with the usual thresholds the collector visits the growing
document over and over, which costs more than the composing itself.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_RARELY = 500_000
_lock = threading.Lock()
_users = 0
_before = (0, 0, 0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Raise the collector's first threshold during the block; blocks may nest and overlap between threads.

    A threshold that other code changes meanwhile is left as set.
    """
    global _before, _users  # noqa: PLW0603 - the collector is process-wide, and so is the count of its users
    with _lock:
        _users += 1
        if _users == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < _RARELY:
                gc.set_threshold(_RARELY, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and gc.get_threshold() == (_RARELY, *_before[1:]):
                gc.set_threshold(*_before)
