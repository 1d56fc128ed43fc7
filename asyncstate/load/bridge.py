"""``__salt__``, ``__states__``, ``__utils__`` and the ``salt`` of templates: calling functions by name.

What a call does depends on where it is made, never on the function that is called:

- In a worker thread, or in a program without a running loop, it blocks and returns the value.
- On the event loop it returns an awaitable, for plain functions too (they run in a worker thread).
- While a plugin is being loaded it returns the value, whatever the thread.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import warnings
from asyncio import _get_running_loop
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError as FutureCancelled
from contextvars import ContextVar, copy_context
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NoReturn

from asyncstate.dunders import current
from asyncstate.errors import AsyncStateError, FunctionNotFound, RunCancelled
from asyncstate.load.loader import loading
from asyncstate.load.plugin import is_async
from asyncstate.load.threads import WorkerThreads, deliverable
from asyncstate.salt_compat.real_salt import agree_on

if TYPE_CHECKING:
    from asyncstate.dunders import CallContext
    from asyncstate.load.loader import LazyLoader


class Switch:
    """The sides between which calls cross: an event loop, and the worker threads.

    ``fallback`` gives the context of calls that are made outside any call.
    """

    def __init__(self, workers: WorkerThreads, fallback: Callable[[], CallContext]) -> None:
        self.workers = workers
        self.fallback = fallback
        self.loop: asyncio.AbstractEventLoop | None = None


_private_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("asyncstate_private_loop", default=None)
"""The loop that was started for one blocking call: what that call leads to must not need the runtime's loop."""


class ForgottenAwait(AsyncStateError, TypeError):
    """The result of a call made on the event loop was used without awaiting it."""


class _PendingCall(Coroutine[Any, Any, Any]):
    """What a call gives on the event loop: an awaitable, and nothing but that.

    Any use as a value raises ForgottenAwait, which names the file and line of the call. One that is never awaited did
    nothing; Python's usual RuntimeWarning says so.
    """

    __slots__ = ("_args", "_coroutine", "_kwargs", "_label", "_place", "_start")

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
        """Give the call up."""
        self._begin().close()

    def _begin(self) -> Coroutine[Any, Any, Any]:
        if self._coroutine is None:
            self._coroutine = self._start(*self._args, **self._kwargs)
        return self._coroutine

    def _forgotten(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ForgottenAwait(f"you forgot to await {self._label} in {self._place[0]}, line {self._place[1]}")

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __str__ = __int__ = __float__ = __index__ = _forgotten
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __call__ = _forgotten
    __format__ = __setitem__ = __delitem__ = __enter__ = __mod__ = __or__ = _forgotten
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "cr_", "gi_", "ag_", "_asyncio")):  # what asyncio asks of any coroutine
            raise AttributeError(name)
        return self._forgotten()

    def __repr__(self) -> str:
        return f"<pending {self._label} from {self._place[0]}:{self._place[1]}>"

    def __del__(self) -> None:
        if getattr(self, "_coroutine", self) is None:
            warnings.warn(f"{self!r} was never awaited: the function did not run", RuntimeWarning, stacklevel=2)


class FunctionMap(Mapping[str, Callable[..., Any]]):
    """Functions by ``module.function``; modules also as attributes (``salt.cmd.run``).

    Asking for a name imports what it takes. Iteration and ``len`` load every plugin.
    """

    def __init__(self, loader: LazyLoader, switch: Switch, *, label: str = "__salt__") -> None:
        self._loader = loader
        self._switch = switch
        self._label = label
        self._calls: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        calls = self._calls
        call = calls.get(name)
        if call is None:
            try:
                function = self._loader.get(name)
            except FunctionNotFound as missing:
                raise KeyError(name) from missing
            call = calls[name] = wrap(function.func, self._switch, f"{self._label}[{name!r}]")
        return call

    def __contains__(self, name: object) -> bool:
        return self._loader.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loader.names())

    def __len__(self) -> int:
        return len(self._loader.names())

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> ModuleView:
        if name.startswith("__") or self._loader.module(name) is None:
            raise AttributeError(name)
        return ModuleView(self, name)

    def __missing_reason__(self, name: str) -> str:
        """Say why there is no function or module of that name, for the error of a template that asked for it."""
        try:
            self._loader.get(name)
        except FunctionNotFound as missing:
            hint = f"; did you mean {missing.suggestion!r}?" if missing.suggestion else ""
            return f"{self._label.strip('_')} has no {name!r}: {missing.reason.rstrip('.')}{hint}"
        return ""

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionMap:
        return self

    def __repr__(self) -> str:
        return f"<functions of {self._label}>"

    def reset(self) -> None:
        """Forget the wrappers, because the loader starts anew."""
        self._calls = {}


class ModuleView:
    """One module of a function map, for attribute access."""

    __slots__ = ("_functions", "_module")

    def __init__(self, functions: FunctionMap, module: str) -> None:
        self._functions = functions
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self._functions[f"{self._module}.{name}"]
        except KeyError:
            raise AttributeError(f"{self._module} has no function {name!r}") from None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[f"{self._module}.{name}"]

    def __missing_reason__(self, name: str) -> str:
        """Say why there is no such function."""
        return self._functions.__missing_reason__(f"{self._module}.{name}")

    def __repr__(self) -> str:
        return f"<module {self._module}>"


class SuffixMap(Mapping[str, Callable[..., Any]]):
    """One function of each module, under the module's name: ``renderers["py"]`` is ``py.render``."""

    def __init__(self, functions: FunctionMap, suffix: str) -> None:
        self._functions = functions
        self._suffix = f".{suffix}"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name + self._suffix]

    def __contains__(self, name: object) -> bool:
        return f"{name}{self._suffix}" in self._functions

    def __iter__(self) -> Iterator[str]:
        return (name.removesuffix(self._suffix) for name in self._functions if name.endswith(self._suffix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def wrap(func: Callable[..., Any], switch: Switch, label: str) -> Callable[..., Any]:
    """Return a function, plain or async, as callers see it: a callable that obeys the rules of this module."""
    awaited = is_async(func)
    blocking = functools.partial(_block_on, switch, func) if awaited else func
    on_loop = settle if awaited else functools.partial(_in_thread, switch)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        context = current.get(None)
        if _get_running_loop() is not None and not loading.get():
            caller = sys._getframe(1)  # noqa: SLF001 - the cheap way to the line of the call
            place = (caller.f_code.co_filename, caller.f_lineno)
            start = on_loop if context is not None else functools.partial(_in_context, switch.fallback(), on_loop)
            return _PendingCall(start, (func, *args), kwargs, label, place)
        if context is None:
            return _blocking_outside(switch.fallback(), call, args, kwargs)
        if context.cancel is not None:
            context.cancel.check()
        try:
            result = blocking(*args, **kwargs)
        except Exception as error:
            agree_on(error)
            raise
        return _block_on(switch, lambda: result) if type(result) is CoroutineType else result

    return call


async def settle(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call ``func`` in place and await what it gives, if it can be awaited. A sys.exit in it does not end the loop."""
    try:
        result = func(*args, **kwargs)
        return await result if hasattr(type(result), "__await__") else result
    except SystemExit as error:
        raise deliverable(error) from error
    except Exception as error:
        agree_on(error)
        raise


async def _in_thread(switch: Switch, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        result = await switch.workers.run_in(current.get(None), func, *args, **kwargs)
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
    """Make a call where no call is under way, as a program that uses the library may."""
    token = current.set(context)
    try:
        return call(*args, **kwargs)
    finally:
        current.reset(token)


def _block_on(switch: Switch, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an async function from a thread, and wait for it.

    On the runtime's loop, so that it may share connections and locks with others there; but on one of its own where
    there is no loop, or where the loop's thread may itself be waiting for what is being loaded.
    """
    coroutine = settle(func, *args, **kwargs)
    loop = _private_loop.get() or switch.loop
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
            failure.append(deliverable(error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


async def _on_private_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    _private_loop.set(asyncio.get_running_loop())
    return await coroutine
