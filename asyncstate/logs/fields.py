"""The fields of a log line: ``run_id`` and ``host`` of a run, ``tag`` and ``sls`` of a state.

They are context variables, so the coroutines, tasks and worker threads that a state starts have them too. structlog
recognises its context variables by a prefix of their names, and these have it. So a program that uses
``structlog.contextvars.merge_contextvars`` gets them in its own lines, while a run that logs nothing need not import
structlog, which takes 100 ms.

This package's worker threads, ``asyncio.to_thread`` and ``anyio.to_thread`` run a call in a copy of the caller's
context. A ``threading.Thread`` that a plugin starts begins with an empty context, and so do the threads of a
``ThreadPoolExecutor``. So ``Thread.start`` and ``ThreadPoolExecutor.submit`` are wrapped, once per process and before
the first run. Outside states they behave as before.
"""

from __future__ import annotations

import functools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import Token

    from asyncstate.model.chunk import LowChunk
    from asyncstate.redact.redacted_plan import RedactedPlan

    Bindings = Sequence[tuple[ContextVar[Any], Any]]

_PREFIX: Final = "structlog_"
FIELDS: Final = ("tag", "sls", "run_id", "host")
_lock = threading.Lock()
_wrapped: list[object] = []


_run: ContextVar[RunFields | None] = ContextVar("asyncstate_log_run", default=None)
_chunk: ContextVar[LowChunk | None] = ContextVar("asyncstate_log_chunk", default=None)


class RunFields:
    """Binds the fields of one run inside a ``with`` block, and those of each of its states.

    ``shown`` redacts the names of states, so tags are the same as in events and rows.
    """

    def __init__(self, run_id: str, host: str, shown: RedactedPlan) -> None:
        self.run_id = run_id
        self.host = host
        self._shown = shown
        self._variables = {name: _variable(name) for name in FIELDS}
        self._tag, self._sls = self._variables["tag"], self._variables["sls"]
        self._before: dict[ContextVar[Any], Token[Any]] = {}
        self._others: dict[ContextVar[Any], Any] = {}

    def __enter__(self) -> Self:
        """Bind ``run_id`` and ``host``."""
        follow_into_threads(_bound)
        self._before = {_run: _run.set(self), _chunk: _chunk.set(None)}
        self._others = _bound_to_structlog()
        bound = self.of(None)
        for name, variable in self._variables.items():
            self._before[variable] = variable.set(bound.get(name, ...))
        return self

    def __exit__(self, *_error: object) -> None:
        """Restore the earlier values of the fields."""
        with suppress(ValueError):  # an abandoned run is closed from another context
            for variable, token in self._before.items():
                variable.reset(token)

    def begin(self, chunk: LowChunk, tag: str) -> None:
        """Bind the fields of a chunk in the current task, until the task begins another chunk."""
        _chunk.set(chunk)
        if "structlog" in sys.modules:
            self._unbind_earlier_fields()
        shown = self._shown.chunk(chunk, tag)
        self._tag.set(tag if shown is chunk else shown.tag)
        self._sls.set(shown.sls)

    def _unbind_earlier_fields(self) -> None:
        """Unbind the fields that an earlier async state has bound in this task. The program's own fields stay."""
        for variable, value in _bound_to_structlog().items():
            before = self._others.get(variable, ...)
            if value is not before and variable not in self._before:
                variable.set(before)

    def of(self, chunk: LowChunk | None) -> dict[str, str]:
        """Return the fields of a line, redacted; fields without a value are left out."""
        found = {"run_id": self.run_id, "host": self.host}
        if chunk is not None:
            shown = self._shown.chunk(chunk, chunk.tag)
            found = {"tag": shown.tag, "sls": shown.sls, **found}
        return {name: value for name, value in found.items() if value}


def log_as(chunk: LowChunk) -> None:
    """Attribute further log lines of this task to another chunk of its run."""
    run = _run.get()
    if run is not None:
        run.begin(chunk, chunk.tag)


def line_fields() -> dict[str, str]:
    """Return the fields of a line written now, in this context; none outside a run."""
    run = _run.get()
    return {} if run is None else run.of(_chunk.get())


def is_hushed() -> bool:
    """Whether the running state has ``no_log``, which hides its log messages."""
    chunk = _chunk.get()
    return chunk is not None and bool(chunk.args.get("no_log"))


_own: Final[dict[str, ContextVar[Any]]] = {name: ContextVar(_PREFIX + name, default=...) for name in FIELDS}


def _variable(name: str) -> ContextVar[Any]:
    """Return the variable in which structlog keeps a field. Its value is an ellipsis if the field is not bound."""
    structlog = sys.modules.get("structlog.contextvars")
    if structlog is None:
        return _own[name]
    token = structlog.bind_contextvars(**{name: ...})[name]
    token.var.reset(token)
    variable: ContextVar[Any] = token.var
    return variable


def _bound() -> list[tuple[ContextVar[Any], Any]]:
    """Return the bindings for a thread that a state starts: the state, and the fields that the state added."""
    if _run.get() is None:
        return []
    return [(_run, _run.get()), (_chunk, _chunk.get()), *_bound_to_structlog().items()]


def _bound_to_structlog() -> dict[ContextVar[Any], Any]:
    return {variable: value for variable, value in copy_context().items() if variable.name.startswith(_PREFIX)}


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
