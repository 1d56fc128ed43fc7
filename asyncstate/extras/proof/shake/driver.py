"""Makes the runs that a search asks for, concurrently, until it ends or is cut off."""

from __future__ import annotations

import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from asyncstate.extras.proof.shake.orders import Order
    from asyncstate.extras.proof.shake.outcome import Outcome
    from asyncstate.extras.proof.shake.search import Batch, Result

_T = TypeVar("_T")
_TICK = 0.2


class Signalled(BaseException):
    """A signal has ended the search; ``name`` is its name."""

    def __init__(self, number: int) -> None:
        self.name: str = signal.Signals(number).name
        self.exit_code: int = 128 + number
        super().__init__(self.name)


class Driver:
    """Drives a search in this thread, and makes its runs in ``width`` others. Use it as a context manager.

    ``seconds`` is the time it may take, from now. ``cancel`` is called to end the runs that are under way. ``tick`` is
    called several times a second with the number of runs of the batch that have ended. ``ended_by`` is the
    reason of a cut-off search: TimeoutError, the error of a run, or the argument of `stop`.
    """

    def __init__(
        self, width: int, seconds: float | None, *, cancel: Callable[[], None], tick: Callable[[int], None]
    ) -> None:
        self.ended_by: BaseException | None = None
        self._cancel = cancel
        self._tick = tick
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._told: SimpleQueue[Future[Any] | BaseException] = SimpleQueue()
        self._pool = ThreadPoolExecutor(width)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cancel()
        self._pool.shutdown(cancel_futures=True)

    def stop(self, why: BaseException) -> None:
        """Cut the search off. Safe in a signal handler."""
        self._told.put(why)

    def call(self, run: Callable[[], _T]) -> _T:
        """Make one run, and return its result. Raises the reason if it is cut off."""
        (result,) = self._each([run])
        if self.ended_by is not None:
            raise self.ended_by
        assert result is not None  # noqa: S101 - for the types: a run that has ended has a result
        return result

    def drive(
        self,
        searching: Generator[Batch, Sequence[Outcome | None], Result],
        run: Callable[[Order], Outcome],
        *,
        serial: Outcome,
        watch: Callable[[Batch], None],
    ) -> Result:
        """Make all runs of a search but the first, whose outcome is ``serial``. ``watch`` is called with each batch."""
        known: tuple[Outcome, ...] = (serial,)
        try:
            batch = next(searching)
            while True:
                watch(batch)
                outcomes = self._each([partial(run, order) for order in batch.orders[len(known) :]])
                batch = searching.send((*known, *outcomes))
                known = ()
        except StopIteration as end:
            result: Result = end.value
            return result

    def _each(self, calls: Sequence[Callable[[], _T]]) -> list[_T | None]:
        """Make calls concurrently; the result of one that was cut off is None."""
        futures = [self._pool.submit(call) for call in calls]
        for future in futures:
            future.add_done_callback(self._told.put)
        left: set[Future[Any]] = set(futures)
        while left and self.ended_by is None:
            told = self._next()
            if isinstance(told, Future):
                left.discard(told)
                self.ended_by = told.exception()
            else:
                self.ended_by = told
            if left and self.ended_by is None and self._ends is not None and time.monotonic() > self._ends:
                self.ended_by = TimeoutError()
            self._tick(len(futures) - len(left))
        return [future.result() if future not in left and not future.exception() else None for future in futures]

    def _next(self) -> Future[Any] | BaseException | None:
        try:
            return self._told.get(timeout=_TICK)
        except Empty:
            return None
