"""LoopWatch: finds plugin functions that hold up the event loop: they compute or block where they should await.

Meanwhile nothing else runs: no other async state, no event, no signal handler. `LoopWatch.steps`
drives the coroutine and reads a tick counter before and after each step, from one await to the next. A thread that does
nothing else moves the counter: if the whole machine is slow, so are the ticks, and no function is blamed. Stacks are
not used, since the stack of a running thread cannot be read safely.
"""

from __future__ import annotations

import os
import threading
from types import coroutine
from typing import TYPE_CHECKING, Any, Self

from asyncstate.errors import Issue
from asyncstate.process.descriptors import Thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from asyncstate.load.plugin import LoadedFunction

LIMIT = 0.05
"""Seconds that one step may take before its function is reported."""
_INTERVAL = 0.0125
"""Seconds between two ticks."""

_HINT = "make it a plain def, which runs in a thread, or await what takes long: asyncio.sleep, asyncio.to_thread"


class LoopWatch:
    """Reports plugin functions that hold up the loop; use it as a context around the run.

    ``issues`` are the findings so far: one for each function, with the file and the line of its definition.
    """

    def __init__(self, *, interval: float = _INTERVAL, limit: float = LIMIT) -> None:
        self.ticks: int = 0
        self._interval = interval
        self._most = max(2, round(limit / interval))
        self._over = threading.Event()
        self._found: dict[str, tuple[LoadedFunction, int]] = {}

    def __enter__(self) -> Self:
        """Begin to watch. If no thread can be started, nothing is reported."""
        try:
            Thread(target=self._tick, name="asyncstate-loop-watch", daemon=True).start()
        except RuntimeError:
            self._over.set()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop watching. The thread ends soon; this does not wait for it."""
        self._over.set()

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The functions that held up the loop, by file and line."""
        return tuple(sorted(self._issue(function, ticks) for function, ticks in self._found.values()))

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
                        os._exit(0)  # the function forked, and goes on in the copy too: two processes on one loop
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
