"""The event loop under runs: it belongs to one runtime, has timers, is watched, and may end under a run.

`LoopAffinity` ties a runtime and its runs to one loop. A `Timer` is one of asyncio, not a task of anyio: it fires
whatever the tasks do, and needs no task group around the block, which would wrap the exceptions of the block.

`LoopWatch` finds plugin functions that compute or block where they should await: meanwhile no other async state, event
or signal handler runs. It reads a tick counter before and after each step of the coroutine, from one await to the next.
A thread that does nothing else moves the counter: if the whole machine is slow, so are the ticks, and no function is
blamed. Stacks are not used, since the stack of a running thread cannot be read safely.

`LoopEnd` detects that a loop was closed, or that the program ends, under a run or other work. A closed loop runs no
code any more: no task is cancelled, no ``finally`` is reached. It only drops its timers. So a timer that never fires
holds the only reference to an object, whose finaliser is called when the loop drops it.

This uses asyncio: anyio names the library that runs, but not the loop, has no timers, and does not detect loops that
are closed under a task.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from asyncio import _get_running_loop
from contextlib import contextmanager, suppress
from functools import partial
from types import coroutine
from typing import TYPE_CHECKING, Any, Self

from asyncstate.errors import EventLoopError, Issue
from asyncstate.guard.lock import clear_cut_off
from asyncstate.process.descriptors import Thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator

    from asyncstate.guard.lock import RunLock
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.load.threads import WorkerThreads


LIMIT = 0.05
"""Seconds that one step may take before its function is reported."""
_INTERVAL = 0.0125
"""Seconds between two ticks."""

_HINT = "make it a plain def, which runs in a thread, or await what takes long: asyncio.sleep, asyncio.to_thread"


class LoopWatch:
    """Reports plugin functions that hold up the loop; use it as a context around the run.

    ``issues`` are the findings so far: one for each function, with the file and the line of its definition. The thread
    starts with the first call.
    """

    def __init__(self, *, interval: float = _INTERVAL, limit: float = LIMIT) -> None:
        self.ticks: int = 0
        self._interval = interval
        self._most = max(2, round(limit / interval))
        self._is_ticking = False
        self._over = threading.Event()
        self._found: dict[str, tuple[LoadedFunction, int]] = {}

    def __enter__(self) -> Self:
        """Begin to watch."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop watching. The thread ends soon; this does not wait for it."""
        self._over.set()

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The functions that held up the loop, by file and line."""
        return tuple(sorted(self._issue(function, ticks) for function, ticks in self._found.values()))

    def watched(self, function: LoadedFunction, pending: Awaitable[Any]) -> Awaitable[Any]:
        """Return ``pending``, the return of a call of ``function``, under watch."""
        if not self._is_ticking:
            self._is_ticking = True
            with suppress(RuntimeError):  # no thread can be started: nothing is reported
                Thread(target=self._tick, name="asyncstate-loop-watch", daemon=True).start()
        watched: Awaitable[Any] = self.steps(function, pending)
        return watched

    @coroutine
    def steps(self, function: LoadedFunction, pending: Awaitable[Any]) -> Generator[Any, Any, Any]:
        """Await ``pending``, the return of a call of ``function``, and measure how long each step takes."""
        steps, process = pending.__await__(), os.getpid()
        send, value = steps.send, None
        try:
            while True:
                before = self.ticks
                try:
                    waits_for = send(value)
                finally:
                    if os.getpid() != process:
                        os._exit(0)  # the function forked: the child must not continue on the loop of its parent
                    if self.ticks - before >= self._most:
                        self._note(function, self.ticks - before)
                try:
                    value = yield waits_for
                    send = steps.send
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - goes on into the call
                    value, send = error, steps.throw
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

    def _tick(self) -> None:
        while not self._over.wait(self._interval):
            self.ticks += 1

    def _note(self, function: LoadedFunction, ticks: int) -> None:
        _, most = self._found.get(function.name, (function, 0))
        self._found[function.name] = (function, max(most, ticks))

    def _issue(self, function: LoadedFunction, ticks: int) -> Issue:
        code = getattr(function.func, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
        seconds = ticks * self._interval
        return Issue(f"{function.name} held up the event loop for {seconds:.2f} seconds or more", file, line, _HINT)


class LoopAffinity:
    """The event loop of a runtime: the one it was entered on.

    A call that awaits belongs on that loop (`require`). One that blocks belongs in a thread without a loop (`refuse`).
    A stop or cancel may come from any thread (`deliver`).
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self) -> asyncio.AbstractEventLoop:
        """Belong to the running loop from now on, and return it. Raises EventLoopError if asyncio runs none."""
        self._loop = running_loop()
        return self._loop

    @property
    def bound(self) -> bool:
        """Whether it belongs to a loop."""
        return self._loop is not None

    def release(self) -> None:
        """Belong to no loop from now on."""
        self._loop = None

    def require(self, call: str) -> None:
        """Raise EventLoopError unless ``call`` is made on the loop of this runtime."""
        if running_loop() is self._loop:
            return
        if self._loop is None:
            raise EventLoopError(
                f"{call} needs a runtime that was entered: call it within `async with StateRuntime(…) as runtime`"
            )
        raise EventLoopError(
            f"{call} belongs on the event loop that its runtime was entered on, and another one runs here. Give each "
            "loop a runtime of its own; or hand the call over: asyncio.run_coroutine_threadsafe(…, loop)"
        )

    def refuse(self, call: str, instead: str) -> None:
        """Raise EventLoopError where ``call``, which blocks, would hold up an event loop.

        Any loop counts, since on any of them ``__salt__`` gives templates awaitables instead of values.
        """
        if _get_running_loop() is not None:
            raise EventLoopError(f"{call} would hold up the event loop. Use `{instead}`, or call it in a thread.")

    def require_loop_thread(self, call: str) -> None:
        """Raise EventLoopError in any thread but the loop's: ``call`` reads values that the loop changes."""
        if self._loop is not None and not self._on_loop():
            raise EventLoopError(
                f"{call} may be read on the event loop only, as long as the run goes on. From another thread, ask the "
                "loop: asyncio.run_coroutine_threadsafe(…, loop)"
            )

    def deliver(self, order: Callable[[str], None], reason: str) -> None:
        """Call ``order(reason)`` on the loop: at once in the loop's thread, else as soon as the loop handles it."""
        loop = self._loop
        if loop is None or self._on_loop():
            order(reason)
            return
        with suppress(RuntimeError):  # the loop is closed, so there is nothing to stop
            loop.call_soon_threadsafe(order, reason)

    def _on_loop(self) -> bool:
        return self._loop is not None and _get_running_loop() is self._loop


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running loop of asyncio. Raises EventLoopError, with advice, if there is none."""
    loop = _get_running_loop()
    if loop is not None:
        return loop
    if _runs_trio():
        raise EventLoopError(
            "asyncstate runs on asyncio only, and trio runs here. Start the program on asyncio: asyncio.run(main()), "
            "or anyio.run(main) without backend='trio'. Inside a program on trio, give it a thread and a loop of its "
            "own: await trio.to_thread.run_sync(asyncio.run, main())"
        )
    raise EventLoopError(
        "asyncstate needs the event loop of asyncio, and none runs here. Start the program with asyncio.run(main())"
    )


def _runs_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


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
