"""Log fields in threads that a plugin starts by itself.

A worker thread of ours, ``asyncio.to_thread`` and ``anyio.to_thread`` run a call in a copy of the caller's context. A
``threading.Thread`` begins with an empty one, and a ``ThreadPoolExecutor`` gives its threads none. So ``Thread.start``
and ``ThreadPoolExecutor.submit`` are wrapped, once a process and before the first run. In code that is no part of a
state they do what they always did.
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
    """Let what ``bound()`` returns in the starting thread be set in the started one. The first call counts."""
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
    """Do what a thread does, in its own context: it has nothing but these variables of its starter's."""
    thread.__dict__.pop("run", None)  # or the thread would hold itself
    for variable, value in bindings:
        variable.set(value)
    run()


def _wrap_submit(bound: Callable[[], Bindings]) -> None:
    submit = ThreadPoolExecutor.submit

    def submit_with_fields(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        bindings = bound()
        if not bindings:
            return submit(self, fn, *args, **kwargs)
        # The pool's threads outlive the state: what starts one here must not leave it the fields of this state.
        return Context().run(submit, self, _call, bindings, fn, args, kwargs)

    ThreadPoolExecutor.submit = submit_with_fields  # type: ignore[method-assign, assignment]


def _call(bindings: Bindings, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    tokens = [(variable, variable.set(value)) for variable, value in bindings]
    try:
        return fn(*args, **kwargs)
    finally:
        for variable, token in tokens:
            variable.reset(token)
