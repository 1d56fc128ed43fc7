"""Exceptions of Salt's functions in a worker, raised again in this process.

Such an exception has asyncstate's class for Salt's one (CommandExecutionError, InvocationError …), or the same built-in
class, so that an ``except`` in a bundled or a custom module catches it; and its row shows the traceback of the worker.
"""

from __future__ import annotations

import builtins
from typing import Annotated, Any

import msgspec

from asyncstate.errors import CommandExecutionError, LoaderError, RaisedElsewhere
from asyncstate.salt_compat import OURS


class _Failure(msgspec.Struct):
    """An exception in the answer of a worker."""

    type: Annotated[str, msgspec.Meta(pattern=r"^[^\0\ud800-\udfff]*\Z")]
    family: str
    builtin: str
    text: str
    trace: str


class _Answer(msgspec.Struct):
    """The answer of a worker: ``ok`` or ``error``."""

    ok: Any = msgspec.UNSET
    error: _Failure | msgspec.UnsetType = msgspec.UNSET
    args: list[Any] = []
    context: dict[str, Any] = {}
    gone: list[str] = []

    def __post_init__(self) -> None:
        if (self.ok is msgspec.UNSET) == (self.error is msgspec.UNSET):
            raise ValueError("an answer has either a value or an error")


def require_answer(message: Any) -> None:
    """Raise ValueError for an invalid answer of a worker."""
    msgspec.convert(message, _Answer)


class LostInSalt(CommandExecutionError, RaisedElsewhere):
    """A worker ended during a call, or cannot start: the row shows the text."""

    def __init__(self, message: object = "") -> None:
        super().__init__(message)
        self.shown: str = self.message


def failure_of(name: str, told: dict[str, Any]) -> Exception:
    """Return the exception to raise for an error of the function ``name`` in a worker."""
    if told["builtin"] in {"SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException"}:
        error: Exception = _like("LoaderError", LoaderError)(f"{name} of Salt called sys.exit({told['text']})")
    else:
        base = OURS.get(told["family"]) or _builtin(told["builtin"])
        if issubclass(base, (StopIteration, StopAsyncIteration)):
            base = LoaderError  # no coroutine may raise them
        try:
            error = _like(told["type"], base)(told["text"])
        except TypeError:  # UnicodeDecodeError and the like need more than a text
            error = _like(told["type"], LoaderError)(told["text"])
    error.shown = told["trace"]  # type: ignore[attr-defined]
    return error


def _builtin(name: str) -> type[Exception]:
    """Return the built-in exception of this name; Exception if this Python is older than the worker's and has none."""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else Exception


def _like(name: str, base: type[Exception]) -> type[Exception]:
    return type(name, (base, RaisedElsewhere), {"__module__": base.__module__, "shown": ""})
