"""Log fields in threads that a plugin starts by itself.

This package's worker threads, ``asyncio.to_thread`` and ``anyio.to_thread`` run a call in a copy of the caller's
context. A ``threading.Thread`` begins with an empty context, and so do the threads of a ``ThreadPoolExecutor``. So
``Thread.start`` and ``ThreadPoolExecutor.submit`` are wrapped, once per process and before the first run. Outside
states they behave as before.
"""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import ContextVar

    Bindings = Sequence[tuple[ContextVar[Any], Any]]

_lock = threading.Lock()
_wrapped: list[object] = []


def follow_into_threads(bound: Callable[[], Bindings]) -> None:
    """Set in every started thread the variables that ``bound()`` returns in the starting one. The first call counts."""
    with _lock:
        if not _wrapped:
            _wrapped.append(bound)
            _wrap_start(bound)
            _wrap_submit(bound)


def _wrap_start(bound: Callable[[], Bindings]) -> None:
    start = threading.Thread.start

    @functools.wraps(start)
    def start_with_fields(self: threading.Thread) -> None:
        bindings = bound()
        if bindings:
            self.run = functools.partial(_run_once, self, self.run, bindings)  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_with_fields  # type: ignore[method-assign]


def _run_once(thread: threading.Thread, run: Callable[[], None], bindings: Bindings) -> None:
    """Run a thread in its own context, with only these variables of the thread that started it."""
    thread.__dict__.pop("run", None)  # otherwise the thread would refer to itself, a reference cycle
    for variable, value in bindings:
        variable.set(value)
    run()


def _wrap_submit(bound: Callable[[], Bindings]) -> None:
    submit = ThreadPoolExecutor.submit

    def submit_with_fields(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        bindings = bound()
        if not bindings:
            return submit(self, fn, *args, **kwargs)
        # The pool's threads outlive the state, so a thread that starts here must not inherit the state's fields.
        return Context().run(submit, self, _call, bindings, fn, args, kwargs)

    ThreadPoolExecutor.submit = submit_with_fields  # type: ignore[method-assign, assignment]


def _call(bindings: Bindings, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    tokens = [(variable, variable.set(value)) for variable, value in bindings]
    try:
        return fn(*args, **kwargs)
    finally:
        for variable, token in tokens:
            variable.reset(token)
