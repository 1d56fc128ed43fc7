"""The keywords of a run, for annotations of programs that pass them on. No run imports this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.model.event import AnyEvent


class RunKeywords(TypedDict, total=False):
    """The keywords that `StateRuntime.apply` and `StateRuntime.single` pass to `StateRuntime.run`, which explains each.

    Your functions can pass them on: ``async def deploy(**options: Unpack[RunKeywords])``.
    """

    concurrency: int | None
    test: bool | None
    failhard: bool | None
    shuffle: int | None
    timeout: float | None
    mock: bool
    trace_effects: bool
    prefetch: int | None
    observers: Sequence[Callable[[AnyEvent], None]]
    about: Mapping[str, Any] | None
    resume: str | None
    force: bool
