"""Calls between worker threads and the event loop, in both directions.

The caller's place decides what a call does, never the called function:

- In a worker thread, or in a program without a running loop, it blocks and returns the value.
- On the event loop it returns an awaitable, also for plain functions (they run in a worker thread).
- While a plugin is being loaded it returns the value, whatever the thread.

The awaitable reports a forgotten ``await``.

This uses asyncio instead of ``anyio.from_thread``, which knows only threads that anyio started: a call may come from
any thread, also from one that a plugin or a host program started.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import warnings
from asyncio import _get_running_loop
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from contextvars import ContextVar, copy_context
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NoReturn

from asyncstate.dunders.context import current
from asyncstate.errors import AsyncStateError, RunCancelled
from asyncstate.load.loader import loading
from asyncstate.load.plugin import is_async
from asyncstate.load.threads import WorkerThreads, transferable
from asyncstate.process.descriptors import Thread
from asyncstate.salt_compat import agree_on

if TYPE_CHECKING:
    from asyncstate.dunders.context import CallContext

_USES = (
    "len iter getitem contains str int float index eq ne lt le gt ge add radd call format setitem delitem enter mod or"
).split()
"""The special methods that use a value, beside ``__bool__``."""


class ForgottenAwait(AsyncStateError, TypeError):
    """The result of a call made on the event loop was used without awaiting it."""


class PendingCall(Coroutine[Any, Any, Any]):
    """The result of a call on the event loop: it can only be awaited.

    Any use as a value raises ForgottenAwait, which names the file and line of the call. A call that is never awaited
    does nothing; Python's usual RuntimeWarning says so, unless ForgottenAwait has.
    """

    __slots__ = ("_args", "_coroutine", "_kwargs", "_label", "_place", "_start", "_told")

    def __init__(
        self,
        start: Callable[..., Coroutine[Any, Any, Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        label: str,
        place: tuple[str, int],
    ) -> None:
        self._start = start
        self._args = args
        self._kwargs = kwargs
        self._label = label
        self._place = place
        self._told = False
        self._coroutine: Coroutine[Any, Any, Any] | None = None

    def __await__(self) -> Any:
        return self._begin().__await__()

    def send(self, value: Any) -> Any:
        """Drive the call, as a task does."""
        return self._begin().send(value)

    def throw(self, *error: Any) -> Any:
        """Raise ``error`` inside the call."""
        return self._begin().throw(*error)

    def close(self) -> None:
        """Cancel the call."""
        self._begin().close()

    def _begin(self) -> Coroutine[Any, Any, Any]:
        if self._coroutine is None:
            self._coroutine = self._start(*self._args, **self._kwargs)
        return self._coroutine

    def _forgotten(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self._told = True
        raise ForgottenAwait(f"you forgot to await {self._label} in {self._place[0]}, line {self._place[1]}")

    def __bool__(self) -> bool:
        if sys._getframe(1).f_globals.get("__name__") == "asyncio.base_tasks":  # noqa: SLF001 - who asks is the point
            return True  # from Python 3.12 on, the repr of a task asks whether it has a coroutine
        return self._forgotten()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "cr_", "gi_", "ag_", "_asyncio")):  # asyncio looks these up on any coroutine
            raise AttributeError(name)
        return self._forgotten()

    def __repr__(self) -> str:
        return f"<pending {self._label} from {self._place[0]}:{self._place[1]}>"

    def __del__(self) -> None:
        if getattr(self, "_coroutine", self) is None and not self._told:
            warnings.warn(f"{self!r} was never awaited: the function did not run", RuntimeWarning, stacklevel=2)


for _use in _USES:
    setattr(PendingCall, f"__{_use}__", PendingCall._forgotten)  # noqa: SLF001 - the class goes on here


class Bridge:
    """The event loop and the worker threads of one runtime.

    ``fallback`` returns the context for calls that are not made from within another call.
    """

    def __init__(self, workers: WorkerThreads, fallback: Callable[[], CallContext]) -> None:
        self.workers = workers
        self.fallback = fallback
        self.loop: asyncio.AbstractEventLoop | None = None


_private_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("asyncstate_private_loop", default=None)
"""The loop that was started for one blocking call: nested calls run on it and never need the runtime's loop."""


def wrap(func: Callable[..., Any], bridge: Bridge, label: str) -> Callable[..., Any]:
    """Return a callable that calls ``func``, plain or async, by the rules of this module."""
    awaited = is_async(func)
    blocking = functools.partial(_block_on, bridge, func) if awaited else func
    on_loop = call_and_await if awaited else functools.partial(_in_thread, bridge)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        context = current.get(None)
        if _get_running_loop() is not None and not loading.get():
            caller = sys._getframe(1)  # noqa: SLF001 - the cheap way to the line of the call
            place = (caller.f_code.co_filename, caller.f_lineno)
            start = on_loop if context is not None else functools.partial(_in_context, bridge.fallback(), on_loop)
            return PendingCall(start, (func, *args), kwargs, label, place)
        if context is None:
            return _blocking_outside(bridge.fallback(), call, args, kwargs)
        if context.cancel is not None:
            context.cancel.check()
        try:
            result = blocking(*args, **kwargs)
        except Exception as error:
            agree_on(error)
            raise
        return _block_on(bridge, lambda: result) if type(result) is CoroutineType else result

    return call


async def call_and_await(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call ``func`` in place and await its result if that is awaitable. A sys.exit in it does not end the loop."""
    try:
        result = func(*args, **kwargs)
        return await result if hasattr(type(result), "__await__") else result
    except SystemExit as error:
        raise transferable(error) from error
    except Exception as error:
        agree_on(error)
        raise


async def _in_thread(bridge: Bridge, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        result = await bridge.workers.run_in(current.get(None), func, *args, **kwargs)
    except Exception as error:
        agree_on(error)
        raise
    return await result if type(result) is CoroutineType else result


async def _in_context(context: CallContext, start: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    token = current.set(context)
    try:
        return await start(*args, **kwargs)
    finally:
        current.reset(token)


def _blocking_outside(
    context: CallContext, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Make a call outside any other call, as a program that uses the library may."""
    token = current.set(context)
    try:
        return call(*args, **kwargs)
    finally:
        current.reset(token)


def _block_on(bridge: Bridge, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an async function from a thread, and wait for it.

    It runs on the runtime's loop, so that it can share connections and locks with other functions there. It runs on a
    loop of its own if the runtime has none, or if the loop's thread may itself wait for the plugin being loaded.
    """
    coroutine = call_and_await(func, *args, **kwargs)
    loop = _private_loop.get() or bridge.loop
    if loop is None or loading.get():
        return _run_alone(coroutine)
    try:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError as error:
        coroutine.close()
        raise RunCancelled("the event loop is closed") from error
    context = current.get(None)
    token = context.cancel if context is not None else None
    release = token.on_cancel(future.cancel) if token is not None else None
    try:
        return future.result()
    except FutureCancelled:
        raise RunCancelled((token and token.reason) or "cancelled") from None
    finally:
        if release is not None:
            release()


def _run_alone(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run ``coroutine`` on a loop of its own; in a thread of its own if this thread already runs one."""
    context = copy_context()
    context.run(loading.set, False)
    if _get_running_loop() is None:
        return context.run(asyncio.run, _on_private_loop(coroutine))
    outcome: list[Any] = []
    failure: list[Exception] = []

    def work() -> None:
        try:
            outcome.append(context.run(asyncio.run, _on_private_loop(coroutine)))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failure.append(transferable(error))

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


async def _on_private_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    _private_loop.set(asyncio.get_running_loop())
    return await coroutine
