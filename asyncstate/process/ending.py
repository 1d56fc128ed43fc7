"""Ends lineages in a thread of its own: TERM, then KILL, until the last member is gone."""

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

from asyncstate import residue
from asyncstate.process.descriptors import Thread
from asyncstate.process.lineage import Lineage, Process, ThreadChildren, living, look_at, processes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.dunders.context import CancelToken

GRACE = 2.0
"""Seconds between TERM and KILL."""
PATIENCE = 10.0
"""Seconds after KILL after which a process that still exists is given up."""
_LOOK = 0.1
"""Seconds between two scans of ``/proc``, at most: a member may have started new processes."""
_LOOKS = 2
"""The number of scans in a row without a member after which a lineage is gone: one can miss a process that starts."""


class _Doomed:
    """A lineage that is being ended."""

    def __init__(self) -> None:
        self.kill_at = time.monotonic() + GRACE
        self.asked: set[tuple[int, int]] = set()
        self.empty = 0


class Reaper:
    """Ends lineages. Its thread lives while there is something to end, and the interpreter waits for it at exit.

    Where no thread can start, callers of `wait` do its work, and the next lineage gives it another chance.
    """

    def __init__(self) -> None:
        self.doomed: dict[Lineage | ThreadChildren, _Doomed] = {}
        """The lineages being ended."""
        self._news = threading.Condition()
        self._is_working = False

    def end(self, lineages: Iterable[Lineage | ThreadChildren]) -> bool:
        """Start to end these lineages and return at once. May be called again, and from any thread.

        Returns False where no thread can start: then `wait` ends them.
        """
        with self._news:
            for lineage in lineages:
                self.doomed.setdefault(lineage, _Doomed())
            if self.doomed and not self._is_working:
                self._is_working = True
                try:
                    Thread(target=self._work, args=(None,), name="asyncstate-reaper", daemon=False).start()
                except RuntimeError:
                    self._is_working = False
            return self._is_working or not self.doomed

    @property
    def busy(self) -> bool:
        """Whether a lineage is being ended."""
        return bool(self.doomed)

    def wait(self, lineages: Iterable[Lineage] | None = None) -> None:
        """Block until these lineages (None: all that are being ended) are gone or given up."""
        wanted: set[Lineage | ThreadChildren] | None = None if lineages is None else set(lineages)
        while True:
            with self._news:
                self._news.wait_for(lambda: not self._is_working or not self._left(wanted))
                if not self._left(wanted):
                    return
                self._is_working = True
            self._work(wanted)
            self.end(())  # a thread may be able to start by now, for lineages that others have added

    def _left(self, wanted: set[Lineage | ThreadChildren] | None) -> bool:
        return bool(self.doomed if wanted is None else wanted & self.doomed.keys())

    def _work(self, wanted: set[Lineage | ThreadChildren] | None) -> None:
        """End lineages until none of ``wanted`` (None: none at all) is left."""
        try:
            while True:
                with self._news:
                    if not self._left(wanted):
                        self._is_working = False  # before the lock is free: later lineages need another thread
                        self._news.notify_all()
                        return
                    doomed = dict(self.doomed)
                try:
                    left = self._press(doomed)
                    if left:
                        _wait_for_any(left, min(_LOOK, *(_until(fate.kill_at) for fate in doomed.values())))
                except (MemoryError, OSError):  # nothing can be seen now
                    time.sleep(_LOOK)
                    self._give_up(doomed)
        except BaseException:
            with self._news:
                self._is_working = False
                self._news.notify_all()
            raise

    def _press(self, doomed: dict[Lineage | ThreadChildren, _Doomed]) -> list[Process]:
        """Send each process of these lineages its next signal, and return them. Lineages without any are done."""
        everything = processes()
        found: list[Process] = []
        for lineage, fate in doomed.items():
            members = lineage.members(everything)
            fate.empty = 0 if members else fate.empty + 1
            if fate.empty == _LOOKS or time.monotonic() >= fate.kill_at + PATIENCE:
                self._done(lineage)
            for process in members:
                _press(process, fate)
            found += members
        return found

    def _done(self, lineage: Lineage | ThreadChildren) -> None:
        with self._news:
            self.doomed.pop(lineage, None)
            self._news.notify_all()

    def _give_up(self, doomed: dict[Lineage | ThreadChildren, _Doomed]) -> None:
        """Without looking for descendants, end what can be ended, and give up what has had its time."""
        for lineage, fate in doomed.items():
            late = time.monotonic() - fate.kill_at
            if late >= 0 and isinstance(lineage, Lineage) and lineage.leader and not lineage.shared:
                with suppress(OSError):
                    os.killpg(lineage.leader, signal.SIGKILL)
            if late >= PATIENCE:
                self._done(lineage)


reaper: Reaper = Reaper()
"""The reaper of this process."""


_parts: WeakKeyDictionary[CancelToken, list[Lineage]] = WeakKeyDictionary()
os.register_at_fork(after_in_child=_parts.clear)  # a copy of this process neither ends nor keeps its programs
_lock = threading.Lock()


def belong(lineage: Lineage, token: CancelToken | None) -> None:
    """Make a lineage part of a call: it is ended when the token of the call, or of an enclosing call, is cancelled.

    `release` takes it out again when the call ends by itself.
    """
    while token is not None:
        with _lock:
            known = _parts.get(token)
            lineages = _parts.setdefault(token, [])
            lineages.append(lineage)
        if known is None or token.reason:
            token.on_cancel(partial(_end_all, lineages))
        token = token.parent


def has_started(token: CancelToken) -> bool:
    """Whether a call has started a program."""
    return token in _parts


def release(token: CancelToken) -> None:
    """Keep the programs of a call that ended by itself: a daemon, or a program in the background.

    Those of a cancelled call are being ended.
    """
    if token.reason or token not in _parts:
        return
    with _lock:
        lineages = _parts.pop(token, [])
    residue.note_ended([lineage.mark for lineage in lineages])


def _end_all(lineages: list[Lineage]) -> None:
    with _lock:
        found = list(lineages)
    reaper.end(found)


def kill_all() -> None:
    """Kill the programs of calls under way, as the last act of the process: waits for no lock, and never raises."""
    with suppress(Exception):
        lineages = {lineage for known in list(_parts.values()) for lineage in list(known)}
        doomed = list(reaper.doomed)
        lineages |= {lineage for lineage in doomed if isinstance(lineage, Lineage)}
        of_threads = [children for children in doomed if isinstance(children, ThreadChildren)]
        everything = processes() if lineages or of_threads else []
        for members in (living(lineages, everything), *(children.members(everything) for children in of_threads)):
            for process in members:
                send(process, signal.SIGKILL)


def _until(moment: float) -> float:
    """Return the seconds until a moment, or the scan interval if it has passed."""
    left = moment - time.monotonic()
    return left if left > 0 else _LOOK


def _press(process: Process, fate: _Doomed) -> None:
    """Send TERM, once, and KILL when its time has come."""
    if time.monotonic() >= fate.kill_at:
        send(process, signal.SIGKILL)
    elif process.identity not in fate.asked:
        fate.asked.add(process.identity)
        send(process, signal.SIGTERM)


def send(process: Process, number: int) -> None:
    """Send a signal to a process, but not to a later one with the same pid."""
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
    """Wait until one of these processes has ended, for ``seconds`` at most."""
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
