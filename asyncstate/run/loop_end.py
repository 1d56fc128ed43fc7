"""LoopEnd: detects that an event loop was closed, or that the program ends, under a run or other work.

A closed loop runs no code any more: no task is cancelled, no ``finally`` is reached. It only drops its timers. So a
timer that never fires holds the only reference to an object, whose finaliser is called when the loop drops it.

This uses asyncio, because anyio has no timers and does not detect loops that are closed under a task.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.process.descriptors import Thread
from asyncstate.run.cleanup import clear_cut_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.load.threads import WorkerThreads
    from asyncstate.run.lock import RunLock

LOOP_CLOSED = "its event loop was closed"
"""The reason in the report of a run whose loop was closed."""
PROGRAM_ENDED = "the program that ran it ended"
"""The reason in the report of a run whose program ended, while its loop ran in a daemon thread."""
_NEVER = 1e8
"""Seconds, three years, after which the timer would fire."""
_PATIENCE = 20.0
"""Seconds that the end of the program waits for the end of a run: longer than the last process of a call can take."""


class _Held:
    """The object that only the loop references."""

    __slots__ = ("__weakref__",)

    def ring(self) -> None:
        """Do nothing: this is never called."""


class LoopEnd:
    """Calls ``closed`` if the loop is closed before `stop`, and ``leave`` if the program ends while the loop runs.

    ``closed`` is called in the thread that closes the loop. If the program ends and the loop does not run, it is called
    in the main thread. ``leave`` is called on the loop, if that runs in a daemon thread; the program waits for `stop`.
    """

    def __init__(self, closed: Callable[[], None], leave: Callable[[], None]) -> None:
        self._closed = closed
        self._leave = leave
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to watch the running loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.current_thread()
        held = _Held()
        self._finalizer = weakref.finalize(held, self._closed)
        self._finalizer.atexit = False
        self._timer = weakref.ref(self._loop.call_later(_NEVER, held.ring))
        _started(self)

    def stop(self) -> None:
        """Stop watching. May be called again."""
        _live.discard(self)
        self._finalizer.detach()
        timer = self._timer()
        if timer is not None:
            timer.cancel()
        self._over.set()

    def program_ends(self) -> None:
        """End the run, because the main thread has ended and the interpreter only waits for non-daemon threads."""
        if not self._loop.is_running():
            self._finalizer()
        elif self._thread.daemon:
            with suppress(RuntimeError):  # closed at this moment
                self._loop.call_soon_threadsafe(self._leave)
                self._over.wait(_PATIENCE)


_live: set[LoopEnd] = set()
_is_watched = False


def _started(end: LoopEnd) -> None:
    global _is_watched  # noqa: PLW0603 - the program ends once
    _live.add(end)
    if not _is_watched:
        _is_watched = True
        # Only these are called before the interpreter refuses new threads and waits for old ones.
        threading._register_atexit(_program_ends)  # type: ignore[attr-defined] # noqa: SLF001


def _program_ends() -> None:
    for end in list(_live):
        end.program_ends()


def in_background(clean_up: Callable[[], None]) -> None:
    """Call ``clean_up`` in a new thread; in this one, if none can start, so that it always releases what it holds."""
    try:
        Thread(target=clean_up, name="asyncstate-clean-up").start()
    except RuntimeError:
        clean_up()


def unwind(task: asyncio.Task[Any], reason: str) -> None:
    """Cancel a task of a loop that is closed: runs its ``except`` and ``finally`` blocks, up to an ``await``.

    Call it in the context of the task.
    """
    task._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001 - we know, and have seen to it
    coroutine = task.get_coro()
    with suppress(BaseException):
        coroutine.throw(asyncio.CancelledError(reason))
    with suppress(BaseException):
        coroutine.close()


def close_task(task: asyncio.Task[Any]) -> None:
    """Close the coroutine of a task that ignores its cancellation, so that the program's loop can end.

    If it ignores even that, asyncio forgets the task.
    """
    coroutine = task.get_coro()
    try:
        coroutine.close()
    except BaseException:  # noqa: BLE001 - the state has its row, and said enough
        asyncio.tasks._unregister_task(task)  # noqa: SLF001 - documented for those who make tasks of their own
    task.cancel()


@contextmanager
def loop_bound(workers: WorkerThreads, held: RunLock | None = None) -> Iterator[None]:
    """Cancel the work of ``workers`` in the block if its loop is closed, or if the program ends.

    A closed loop never leaves the block, so the lock ``held`` is then released in the background, after the last
    process has ended.
    """

    def closed() -> None:
        release = held.hand_over() if held is not None else None
        workers.cut_off(LOOP_CLOSED)
        in_background(partial(_clear, release))

    end = LoopEnd(closed, lambda: workers.cut_off(PROGRAM_ENDED))
    end.start()
    try:
        yield
    finally:
        end.stop()


def _clear(release: Callable[[], None] | None) -> None:
    try:
        clear_cut_off()
    finally:
        if release is not None:
            release()
