"""Ending lineages: TERM, then KILL, to the last member, in a thread beside whoever asked for it."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from asyncstate import remains
from asyncstate.process.lineage import Lineage, Process, ThreadChildren, look_at, processes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.dunders import CancelToken

GRACE = 2.0
"""Seconds between TERM and KILL."""
PATIENCE = 10.0
"""Seconds after which a process that does not even go when it is killed is not waited for."""
_LOOK = 0.1
"""Seconds between two looks at what does not go, at most; more may have to go by then."""
_LOOKS = 2
"""A lineage is over when nothing of it was seen so often in a row: a look at ``/proc`` takes its time, and what is
started meanwhile may be missed once."""


class _Doomed:
    """A lineage that is being ended."""

    def __init__(self) -> None:
        self.kill_at = time.monotonic() + GRACE
        self.asked: set[tuple[int, int]] = set()
        self.empty = 0


class Reaper:
    """Ends lineages. Its thread lives while there is something to end, and the interpreter does not leave before."""

    def __init__(self) -> None:
        self._doomed: dict[Lineage | ThreadChildren, _Doomed] = {}
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None

    def end(self, lineages: Iterable[Lineage | ThreadChildren]) -> None:
        """Have these lineages ended; returns at once. May be called again, from any thread."""
        with self._news:
            for lineage in lineages:
                self._doomed.setdefault(lineage, _Doomed())
            if self._doomed and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="asyncstate-reaper", daemon=False)
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether something is being ended."""
        return bool(self._doomed)

    def wait(self, lineages: Iterable[Lineage] | None = None) -> None:
        """Wait until these lineages (None: all that are being ended) are gone. Blocks."""
        wanted: set[Lineage | ThreadChildren] | None = None if lineages is None else set(lineages)
        with self._news:
            self._news.wait_for(lambda: not (self._doomed if wanted is None else wanted & self._doomed.keys()))

    def _work(self) -> None:
        while True:
            with self._news:
                doomed = dict(self._doomed)
                if not doomed:
                    self._thread = None
                    return
            left: list[Process] = []
            everything = processes()
            for lineage, fate in doomed.items():
                members = lineage.members(everything)
                fate.empty = 0 if members else fate.empty + 1
                if fate.empty == _LOOKS or time.monotonic() >= fate.kill_at + PATIENCE:
                    with self._news:
                        del self._doomed[lineage]
                        self._news.notify_all()
                for process in members:
                    _press(process, fate)
                left += members
            if left:
                _wait_for_any(left, min(_LOOK, *(_until(fate.kill_at) for fate in doomed.values())))


reaper = Reaper()
"""The one of this process."""

_parts: WeakKeyDictionary[CancelToken, list[Lineage]] = WeakKeyDictionary()
_lock = threading.Lock()


def belong(lineage: Lineage, token: CancelToken | None) -> None:
    """Make a lineage part of a call: when the call's token is cancelled, or that of a call around it, it is ended.

    `release` says that the call has ended by itself: then everything lives.
    """
    if lineage.mark:
        remains.note_started(lineage.mark)
    while token is not None:
        with _lock:
            known = _parts.get(token)
            lineages = _parts.setdefault(token, [])
            lineages.append(lineage)
        if known is None or token.reason:
            token.on_cancel(partial(_end_all, lineages))
        token = token.parent


def has_started(token: CancelToken) -> bool:
    """Whether a call has started a program so far."""
    return token in _parts


def release(token: CancelToken) -> None:
    """Let live what a call has started that ended by itself, a daemon or a program in the background."""
    with _lock:
        lineages = _parts.pop(token, [])
    remains.note_ended([lineage.mark for lineage in lineages if lineage.mark])


def _end_all(lineages: list[Lineage]) -> None:
    with _lock:
        found = list(lineages)
    reaper.end(found)


def _until(moment: float) -> float:
    """Return the seconds until a moment; a while if it has passed."""
    left = moment - time.monotonic()
    return left if left > 0 else _LOOK


def _press(process: Process, fate: _Doomed) -> None:
    """Ask a process to end, once, or make it."""
    if time.monotonic() >= fate.kill_at:
        send(process, signal.SIGKILL)
    elif process.identity not in fate.asked:
        fate.asked.add(process.identity)
        send(process, signal.SIGTERM)


def send(process: Process, number: int) -> None:
    """Send a signal to a process, and to no other that may have its number by now."""
    with suppress(OSError):
        if not process.started:
            os.killpg(process.pid, number)
            return
        descriptor = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        try:
            found = look_at(process.pid)
            if found is None or found.started != process.started:
                return
            if descriptor < 0:
                os.kill(process.pid, number)
            else:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            if descriptor >= 0:
                os.close(descriptor)


def _wait_for_any(members: list[Process], seconds: float) -> None:
    """Wait until one of these processes has ended, or the time is over."""
    poll = select.poll()
    descriptors = []
    try:
        for process in members:
            if process.started and hasattr(os, "pidfd_open"):
                with suppress(OSError):
                    descriptors.append(os.pidfd_open(process.pid))
                    poll.register(descriptors[-1], select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
