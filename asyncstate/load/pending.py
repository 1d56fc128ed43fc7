"""The result of a call on the event loop: an awaitable that reports a forgotten ``await``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from asyncstate.errors import AsyncStateError

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
