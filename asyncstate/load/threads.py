"""Worker threads for plain functions: as many as are needed, reused, and cheap to hand work to.

The number of threads is not limited here: the scheduler limits the number of chunks. Where the system refuses another
thread, a call waits for an existing one. A call made from a function in a thread does not wait for
ever: such functions may hold all threads.

This uses asyncio instead of ``anyio.to_thread``: an abandoned call must still report when its thread has returned
(`CancelToken.overdue`), its child processes must end, and the loop is woken once for all results that are ready.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from asyncstate.dunders.context import CancelToken, current, thread_token
from asyncstate.errors import LoaderError, RunCancelled
from asyncstate.logs import get_logger
from asyncstate.model.encode import plain
from asyncstate.process.descriptors import LOOK, PATIENCE, Thread, room
from asyncstate.process.ending import reaper, release
from asyncstate.process.lineage import ThreadChildren, ticks

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable

    from asyncstate.dunders.context import CallContext

log: logging.Logger = get_logger(__name__)

T = TypeVar("T")

IDLE_SECONDS = 10.0
SHORT = 0.01
"""Seconds for which a call of a strand waits for another one."""
QUICK = 0.0003
"""Seconds that a call of a quick function takes: less than to start a program, and more than to wake a thread."""
_PATIENCE = 0.002
"""Seconds for which a call of a quick function waits for another one."""
_LEAST_TRUST, _MOST_TRUST = -8, 32
"""A function is quick if most of its last calls were: a call may also be slow because others hold Python's lock."""
_REFUSED = "no further thread can be started; run fewer states at once or raise the limits of this process"
_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether calls made here come from a function in a thread, which waits for them."""


async def to_its_end(work: Awaitable[T]) -> T:
    """Await work that must not outlast the task. A cancellation by asyncio is raised after its end, from its error."""
    from anyio import CancelScope  # noqa: PLC0415 - only needed with an event loop

    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with CancelScope(shield=True):
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:  # asyncio's own passes the scope, and so does a second one
                cancelled = cancelled or error
    if cancelled is not None:
        raise cancelled from (None if future.cancelled() else future.exception())
    return future.result()


class WorkerThreads:
    """Runs plain functions in daemon threads for coroutines of any event loop.

    The thread that became idle last is used first, so a sequence of calls stays in one warm thread; a thread ends after
    ``idle_seconds`` without a call. Threads are daemons: a function that never returns does not keep the process alive.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._patience = idle_seconds
        self.idle_seconds: float = idle_seconds
        self.idle: list[_Worker] = []
        self.live: set[_Worker] = set()
        self.queue: deque[_Job] = deque()
        """Calls for which no thread could be started."""
        self._is_hopeless = False
        """Whether the last call that waited for a thread got none."""
        self._outlets: dict[asyncio.AbstractEventLoop, _Outlet] = {}
        self._started = 0
        self._outside: set[Callable[[str], None]] = set()
        room.holders.add(self)

    async def run(self, func: Callable[..., T], *args: Any, strand: Strand | None = None) -> T:
        """Call ``func(*args)`` in a thread, in a copy of the current context, and return what it returns.

        When the awaiting task is cancelled, so is the cancel token that the call sees: its subprocesses are killed and
        its next ``__salt__`` call raises RunCancelled. The task itself does not wait for that; the token's ``overdue``
        holds a future that is done when the thread has returned. Where no thread can be started, the call waits until
        another one has ended. Raises LoaderError if none can be expected to end. Calls of one ``strand`` run in turn.
        """
        return await self._run(current.get(None), partial(func, *args), strand)

    async def run_to_end(self, func: Callable[..., T], *args: Any) -> T:
        """Do what `run` does, but let a call end by itself, and wait for it, in a cancelled task too.

        Where no thread can be started, the loop makes the call.
        """
        try:
            return await self._run(current.get(None), partial(func, *args), lasting=True)
        except LoaderError:
            return func(*args)

    async def run_in(self, call: CallContext | None, func: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call ``func`` as `run` does, with ``call`` as the call context and with keyword arguments.

        Raises the exceptions of ``func``, except those that would end the process or look like a cancellation of the
        awaiting task: SystemExit becomes LoaderError, the others RunCancelled.
        """
        return await self._run(call, partial(func, *args, **kwargs))

    async def _run(
        self, call: CallContext | None, func: Callable[[], T], strand: Strand | None = None, *, lasting: bool = False
    ) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = copy_context()
        # The call has its own token: cancelling this call must not cancel the rest of the chunk.
        parent = None if call is None else call.cancel
        token = CancelToken(parent)
        if call is None:
            context.run(thread_token.set, token)
        else:
            context.run(current.set, call.cancelled_by(token))
        undo = parent.on_cancel(lambda: token.cancel(parent.reason)) if parent is not None else None
        job = _Job(self._outlet(loop), future, context, func, nested=_inside.get(), strand=strand)
        context.run(_inside.set, True)

        def cut_off(reason: str) -> None:
            token.cancel(reason)
            worker = job.worker
            if worker is not None and worker.current is job and worker.native_id is not None:
                reaper.end([ThreadChildren(worker.native_id, job.began, lambda: worker.current is job)])

        try:
            if strand is None:
                self._submit(job)
            else:
                strand.join(job, self._submit)
            if call is None:
                self._outside.add(cut_off)
            return await (to_its_end(future) if lasting else future)
        except asyncio.CancelledError as cancelled:
            if not (job.returned or self._withdraw(job)):
                job.expected = loop.create_future()
                token.overdue.append(job.expected)
            cut_off(str(cancelled) or "cancelled")
            raise
        finally:
            self._outside.discard(cut_off)
            if undo is not None:
                undo()
            if call is None:
                release(token)

    def cut_off(self, reason: str) -> None:
        """Cancel all calls that belong to no state, as if their awaiting tasks were cancelled. Needs no loop."""
        for cut_off in list(self._outside):
            cut_off(reason)

    def open(self) -> None:
        """Keep idle threads for ``idle_seconds`` from now on."""
        self.idle_seconds = self._patience

    def close(self) -> None:
        """End the idle threads; each of the others ends after its call."""
        self.idle_seconds = 0.0
        self.give_back()

    @property
    def started(self) -> int:
        """The number of threads started so far."""
        return self._started

    def give_back(self) -> None:
        """End the idle threads."""
        with suppress(IndexError):  # until the list is empty; a thread may remove itself meanwhile
            while True:
                self.idle.pop().ready.release()

    def _submit(self, job: _Job) -> None:
        if not (self._hand_over(job) or self._start_worker(job)):
            if self._is_hopeless and not self.live:
                raise LoaderError(_REFUSED)
            if job.nested:
                self.queue.appendleft(job)
            else:
                self.queue.append(job)
            self._look_after(job, time.monotonic() + PATIENCE)

    def _hand_over(self, job: _Job) -> bool:
        """Give a call to an idle thread, if there is one."""
        try:
            worker = self.idle.pop()
        except IndexError:
            return False
        worker.job = job
        worker.ready.release()
        return True

    def _start_worker(self, job: _Job) -> bool:
        """Start a thread for a call, if the system allows it."""
        worker = _Worker(self, f"asyncstate-{self._started + 1}", job)
        try:
            Context().run(worker.start)  # an empty context: the thread outlives the state that starts it
        except (RuntimeError, MemoryError):
            worker.job = None  # should it begin later
            return False
        self._started += 1
        self._is_hopeless = False
        return True

    def _look_after(self, job: _Job, until: float) -> None:
        """Give a queued call a thread, or let it fail if none can be expected; repeat on the loop until then.

        A thread whose function ends takes the next call. So a call waits as long as there is a thread; after ``until``,
        a call that a function in a thread waits for fails.
        """
        if job not in self.queue:
            return
        if (self.idle or self.queue[0] is job) and self._withdraw(job):
            if self._hand_over(job) or self._start_worker(job):
                return
            self.queue.appendleft(job)
        if time.monotonic() >= until and (job.nested or not self.live) and self._withdraw(job):
            self._is_hopeless = not self.live
            if not job.future.done():
                job.future.set_exception(LoaderError(_REFUSED))
            return
        job.future.get_loop().call_later(LOOK, self._look_after, job, until)

    def _withdraw(self, job: _Job) -> bool:
        """Take a call out of the queue; return whether it was there."""
        if job.strand is not None and job.strand.withdraw(job):
            return True
        try:
            self.queue.remove(job)
        except ValueError:
            return False
        return True

    def next_call(self) -> _Job | None:
        """Return the call that has waited longest for a thread."""
        try:
            return self.queue.popleft()
        except IndexError:
            return None

    def _outlet(self, loop: asyncio.AbstractEventLoop) -> _Outlet:
        outlet = self._outlets.get(loop)
        if outlet is None:
            self._outlets = {known: o for known, o in self._outlets.items() if not known.is_closed()}
            outlet = self._outlets[loop] = _Outlet(loop)
        return outlet


class _Job:
    """One call of a function. ``future`` gets its result, ``expected`` is done when an abandoned call has returned.

    ``nested``: a function in another thread waits for it. ``began`` is in clock ticks since boot, ``started`` in
    seconds of `time.monotonic`.
    """

    __slots__ = (
        "began", "call", "context", "expected", "future", "nested", "outlet", "returned", "started", "strand", "worker"
    )  # fmt: skip

    def __init__(
        self,
        outlet: _Outlet,
        future: asyncio.Future[Any],
        context: Context,
        call: Callable[[], Any],
        *,
        nested: bool = False,
        strand: Strand | None = None,
    ) -> None:
        self.nested: bool = nested
        self.strand: Strand | None = strand
        self.began: int = 0
        self.started: float = 0.0
        self.worker: _Worker | None = None
        self.outlet: _Outlet = outlet
        self.future: asyncio.Future[Any] = future
        self.context: Context = context
        self.call: Callable[[], Any] = call
        self.expected: asyncio.Future[None] | None = None
        self.returned: bool = False
        """Whether the loop knows that the thread has returned."""


class Strand:
    """Calls that run one after the other in one thread, as long as each of them is short.

    For calls that would get in each other's way: the kernel lets one thread at a time change a folder, and the others
    spin meanwhile. While a call takes longer than `SHORT`, the ones behind it and new ones get threads of their own.

    ``of_function``: for all calls of one function, while most of them are quick. To hand a call over to another thread
    takes longer than many a call; a strand hands over several at once.
    """

    __slots__ = ("_began", "_current", "_lock", "_of_function", "_trust", "_waiting", "_watched", "patience")

    def __init__(self, *, of_function: bool = False) -> None:
        self.patience: float = _PATIENCE if of_function else SHORT
        """Seconds for which a call waits for the one before it."""
        self._of_function = of_function
        self._trust = 0
        self._lock = threading.Lock()
        self._current: _Job | None = None
        self._began = 0.0
        self._waiting: deque[_Job] = deque()
        self._watched = False

    def join(self, job: _Job, submit: Callable[[_Job], None]) -> None:
        """Submit ``job`` now, or let it wait for its turn; ``submit`` gives a call a thread of its own."""
        now = time.monotonic()
        with self._lock:
            waits = self._current is not None and now - self._began < self.patience
            if waits:
                self._waiting.append(job)
            elif self._current is None:
                self._current, self._began = job, now
        if not waits:
            submit(job)
        elif not self._watched:
            self._watched = True
            loop = job.future.get_loop()
            loop.call_later(self.patience, self._look, loop, submit)

    def next_after(self, job: _Job) -> _Job | None:
        """Return the call whose turn it is when ``job`` has ended. For the thread of ``job``."""
        now = time.monotonic()
        with self._lock:
            if self._current is not job:
                return None
            if self._of_function:
                trust = self._trust + (1 if now - job.started < QUICK else -1)
                self._trust = max(_LEAST_TRUST, min(trust, _MOST_TRUST))
                self.patience = _PATIENCE if self._trust >= 0 else 0.0
            self._current, self._began = self._waiting.popleft() if self._waiting else None, now
            return self._current

    def withdraw(self, job: _Job) -> bool:
        """Take out a call that waits for its turn; return whether it was there."""
        with self._lock:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            return True

    def _look(self, loop: asyncio.AbstractEventLoop, submit: Callable[[_Job], None]) -> None:
        """Submit the waiting calls if the current one is not short. Repeats while there are any."""
        late: deque[_Job] = deque()
        with self._lock:
            if time.monotonic() - self._began >= self.patience:
                late, self._waiting = self._waiting, late
            self._watched = bool(self._waiting)
        for job in late:
            try:
                submit(job)
            except LoaderError as error:
                if not job.future.done():
                    job.future.set_exception(error)
        if self._watched:
            loop.call_later(self.patience, self._look, loop, submit)


class _Worker(Thread):
    """One thread. A caller that removes it from the list of idle threads may set its ``job``."""

    def __init__(self, pool: WorkerThreads, name: str, job: _Job) -> None:
        super().__init__(name=name, daemon=True)
        self._pool = pool
        self.job: _Job | None = job
        self.current: _Job | None = None
        """The call under way."""
        self.ready: threading.Lock = threading.Lock()
        self._process = 0

    def run(self) -> None:
        self._process = os.getpid()
        self._pool.live.add(self)
        try:
            self._take_calls()
        finally:
            self._pool.live.discard(self)

    def _take_calls(self) -> None:
        self.ready.acquire()
        while True:
            self._work()
            if self._take_waiting():
                continue
            if not self.ready.acquire(timeout=self._pool.idle_seconds):
                try:
                    self._pool.idle.remove(self)
                except ValueError:  # removed at this very moment
                    self.ready.acquire()
                else:
                    return
            if self.job is None:  # removed by `close`
                return

    def _take_waiting(self) -> bool:
        """Take a queued call. This worker is among the idle ones, where other threads may give it a call."""
        pool = self._pool
        while pool.queue:
            try:
                pool.idle.remove(self)
            except ValueError:
                return False
            self.job = pool.next_call()
            if self.job is not None:
                return True
            pool.idle.append(self)  # another thread took it. The next caller finds this worker
        return False

    def _work(self) -> None:
        job, self.job = self.job, None
        while job is not None:
            self.current = job
            job.began = ticks()
            job.worker = self
            job.started = time.monotonic()
            result: Any = None
            error: BaseException | None = None
            try:
                result = job.context.run(job.call)
            except BaseException as raised:  # noqa: BLE001 - raised again where the call is awaited
                error = transferable(raised)
            if os.getpid() != self._process:
                os._exit(0)  # the function forked: the child has no loop that could take its return value
            self.current = None
            following = None if job.strand is None else job.strand.next_after(job)
            if following is None:
                self._pool.idle.append(self)
            job.outlet.deliver(job, result, error)
            job = following


class _Outlet:
    """Delivers results to one event loop, waking it once for all that are ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._finished: deque[tuple[_Job, Any, BaseException | None]] = deque()
        self._awake = False

    def deliver(self, job: _Job, result: Any, error: BaseException | None) -> None:
        """Deliver one result from a worker thread. It is dropped if the loop is closed: no task waits then."""
        self._finished.append((job, result, error))
        if self._awake:
            return
        self._awake = True
        while True:
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except MemoryError:  # a task waits for this
                time.sleep(LOOK)
            except RuntimeError:
                self._finished.clear()
                log.debug("a function ended after its event loop was closed")
                return
            else:
                return

    def _drain(self) -> None:
        self._awake = False
        while self._finished:
            job, result, error = self._finished.popleft()
            job.returned = True
            if job.future.done():
                if job.expected is not None and not job.expected.done():
                    job.expected.set_result(None)
                if error is not None and not isinstance(error, RunCancelled):
                    # In the context of its call, whose secrets the log must hide.
                    job.context.run(log.debug, "a function failed after its caller had stopped waiting", exc_info=error)
            elif error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)


def _shown(code: object) -> str:
    return repr(code) if code is None or type(code) in (int, str) else str(plain(code))


def transferable(error: BaseException) -> Exception:
    """Return ``error``, or a replacement if it would end the loop or look like a cancellation there."""
    if isinstance(error, SystemExit):
        replacement: Exception = LoaderError(f"the function called sys.exit({_shown(error.code)})")
    elif isinstance(error, StopIteration):
        replacement = LoaderError("the function raised StopIteration")
    elif isinstance(error, Exception):
        return error
    else:
        replacement = RunCancelled(str(plain(error)) or type(error).__name__)
    replacement.__cause__ = error
    return replacement
