"""Timer: calls a function on the event loop after some time, once or repeatedly.

It uses a timer of asyncio, not a task of anyio: a timer fires whatever the tasks do, and needs no task group around the
block, which would wrap the exceptions of the block.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer:
    """Calls ``call`` after ``seconds``, or with ``repeat`` every ``seconds``, until its block ends. None: never."""

    def __init__(self, seconds: float | None, call: Callable[[], None], *, repeat: bool = False) -> None:
        self._seconds = seconds
        self._call = call
        self._repeat = repeat
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer. Needs a running event loop."""
        if self._seconds is not None:
            self._next = asyncio.get_running_loop().call_later(self._seconds, self._ring)

    def stop(self) -> None:
        """Stop the timer: ``call`` is not called any more."""
        if self._next is not None:
            self._next.cancel()

    def __enter__(self) -> Self:
        """Start the timer."""
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop the timer."""
        self.stop()

    def _ring(self) -> None:
        if self._repeat:
            self.start()
        self._call()
