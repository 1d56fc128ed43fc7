"""Limits on the processor time and the memory of a template: an endless one is an error.

Each round of a loop, each call and each step of a filter such as `map` counts as a step; the processor time of the
thread is read every few steps. Waiting, for a command for example, is not included. Renderings within a rendering
share the time of the outermost.
"""

from __future__ import annotations

import math
import mmap
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from jinja2 import pass_context

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jinja2.runtime import Context

_STEPS: Final = 16
"""Number of steps between two readings of the clock."""
_SHORTLY: Final = 0.02
"""Seconds between two readings of the thread's time and the memory, which are slow."""
_MOST_MEMORY: Final = 512
"""Limit of the process's growth during a rendering, in MiB."""
_MIB: Final = 1 << 20


class Endless(AsyncStateError):
    """A template takes too much processor time or memory."""


class Watch:
    """Checks the processor time and the memory of one thread's outermost rendering."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.thread_time()
        self._looked, self._memory = _lately()
        self._steps = _STEPS

    def step(self) -> None:
        """Count a step. Raises Endless once the rendering is beyond a limit."""
        self._steps -= 1
        if self._steps < 0:
            self._steps = _STEPS
            if time.monotonic() - self._looked > _SHORTLY:
                self._look()

    def _look(self) -> None:
        if self._seconds and time.thread_time() - self._began > self._seconds:
            raise Endless(
                f"the template has calculated for {self._seconds:g} seconds. A loop or a macro may be endless; "
                "the option render_timeout sets the limit (0: none)"
            )
        if _memory() - self._memory > _MOST_MEMORY * _MIB:
            raise Endless(f"the template takes more than {_MOST_MEMORY} MiB of memory")
        self._looked = time.monotonic()


def _memory() -> int:
    """Return the resident memory of this process in bytes; 0 without ``/proc``."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def _lately() -> tuple[float, int]:
    """Return the time, and the memory as it was at most `_SHORTLY` before: most templates take less than to read it."""
    now = time.monotonic()
    if now - getattr(_threads, "read", -math.inf) > _SHORTLY:
        _threads.read, _threads.memory = now, _memory()
    return now, _threads.memory


_threads = threading.local()


@contextmanager
def watched(seconds: float) -> Iterator[Watch]:
    """Yield the watch of this thread's outermost rendering; ``seconds`` is the limit if it is this one."""
    outer: Watch | None = getattr(_threads, "watch", None)
    if outer is not None:
        yield outer
        return
    _threads.watch = Watch(seconds)
    try:
        yield _threads.watch
    finally:
        _threads.watch = None


class Rounds:
    """The values of a loop, with each round counted as a step; it has the length of the original, if any."""

    __slots__ = ("_step", "_values")

    def __init__(self, values: Iterable[Any], step: Callable[[], None]) -> None:
        self._values = values
        self._step = step

    def __len__(self) -> int:
        return len(self._values)  # type: ignore[arg-type]  # TypeError if it has none

    def __iter__(self) -> Iterator[Any]:
        step = self._step
        for value in self._values:
            step()
            yield value


def stepwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that generates its result, with each member counted as a step."""

    @pass_context
    def call(context: Context, *args: Any, **kwargs: Any) -> Iterator[Any]:
        return iter(context.environment.rounds(function(*args, **kwargs)))  # type: ignore[attr-defined]  # ours has it

    return call
