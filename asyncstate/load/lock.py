"""The lock of a plugin file: one thread at a time imports it and calls its ``__virtual__``."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Chain:
    """A load under way: the thread that began it, and the threads that run calls of its ``__virtual__``."""

    __slots__ = ("awaits",)

    def __init__(self) -> None:
        self.awaits: list[str] = []

    def leads_to(self, other: _Chain) -> bool:
        """Return whether this chain waits, directly or through others, for a plugin that ``other`` is loading."""
        if self is other:
            return True
        return any((holder := _holders.get(key)) is not None and holder.leads_to(other) for key in self.awaits)


_condition = threading.Condition()
_holders: dict[str, _Chain] = {}
_chain: ContextVar[_Chain | None] = ContextVar("asyncstate_load_chain", default=None)


@contextmanager
def plugin_lock(key: str) -> Iterator[bool]:
    """Hold the lock of one plugin file while it is imported and its ``__virtual__`` runs.

    Yields False at once if waiting would be a deadlock: this load is part of loading that very plugin, or the thread
    that loads the plugin itself waits for one that this load holds.
    """
    me = _chain.get() or _Chain()
    with _condition:
        while (holder := _holders.get(key)) is not None and not holder.leads_to(me):
            me.awaits.append(key)
            try:
                _condition.wait()
            finally:
                me.awaits.remove(key)
        if holder is None:
            _holders[key] = me
    if holder is not None:
        yield False
        return
    token = _chain.set(me)
    try:
        yield True
    finally:
        _chain.reset(token)
        with _condition:
            del _holders[key]
            _condition.notify_all()
