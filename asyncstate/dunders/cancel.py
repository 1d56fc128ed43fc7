"""CancelToken: tells the code of a call that the call was cancelled."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from asyncstate.errors import RunCancelled

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

log: logging.Logger = logging.getLogger(__name__)


blocking: set[CancelToken] = set()
"""The tokens of work that a program awaits without an event loop. Another thread may cancel them."""


class CancelToken:
    """Tells code in a worker thread that its call was cancelled: the task that awaited it no longer does.

    ``on_cancel`` registers a callback that must run at once (to kill a process group); ``check`` raises RunCancelled.
    Every method may be called from any thread; a cancellation calls each callback exactly once. ``parent`` is the token
    of the enclosing call. ``overdue`` has a future for each thread of the whole call that still runs
    although the task that awaited it was cancelled; the future is done when the thread has returned.
    """

    __slots__ = ("__weakref__", "_callbacks", "overdue", "parent", "reason")

    def __init__(self, parent: CancelToken | None = None) -> None:
        self.reason: str = ""
        self.parent: CancelToken | None = parent
        self.overdue: list[asyncio.Future[None]] = [] if parent is None else parent.overdue
        self._callbacks: dict[object, Callable[[], object]] = {}

    def cancel(self, reason: str) -> None:
        """Set the reason and call the registered callbacks. Later calls change nothing."""
        if self.reason:
            return
        self.reason = reason or "cancelled"
        for key in list(self._callbacks):
            self._call(key)

    def check(self) -> None:
        """Raise RunCancelled if the token was cancelled."""
        if self.reason:
            raise RunCancelled(self.reason)

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Register ``callback``; the return value unregisters it. Called at once if already cancelled."""
        key = object()
        self._callbacks[key] = callback
        if self.reason:
            self._call(key)

        def release() -> None:
            self._callbacks.pop(key, None)

        return release

    def _call(self, key: object) -> None:
        """Call one callback, unless another thread took it first. A callback that fails must not stop the others."""
        callback = self._callbacks.pop(key, None)
        if callback is None:
            return
        try:
            callback()
        except Exception:
            log.exception("a clean-up after a cancellation failed")
