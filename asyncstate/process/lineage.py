"""Lineages: a program that was started and all that descends from it, and how they are found."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_LIMIT = 10
"""RLIMIT_LOCKS, which the module ``resource`` does not name."""
_LIMIT_LINE = b"Max file locks"
_STATE, _PARENT, _SESSION, _STARTED = 0, 1, 3, 19
"""Where the fields stand in ``/proc/PID/stat``, after the name."""


class Lineage(NamedTuple):
    """The mark of one program that was started, 0 where there are none, and its process id."""

    mark: int
    leader: int

    def members(self, everything: list[Process]) -> list[Process]:
        """Return what lives of it, among ``everything`` that `processes` saw."""
        return living([self], everything)


class Process(NamedTuple):
    """A process that lives. ``started`` is in the ticks of ``/proc/PID/stat``; with ``pid`` it names no other one.

    Where it is 0 there is no ``/proc``, and this is a process group.
    """

    pid: int
    parent: int
    session: int
    started: int
    mark: int

    @property
    def identity(self) -> tuple[int, int]:
        """What stays the same while it lives, and is no other's."""
        return self.pid, self.started


class _Marks:
    """Hands out marks: the same one never twice, in no process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process = 0
        self._upper = -1
        self._numbers: Iterator[int] = iter(())

    def next(self) -> int:
        """Return a new mark. The upper half is that of this process; a fork has another one."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._upper = (1 << 29) + (int.from_bytes(os.urandom(4), "big") >> 3)
            self._numbers = itertools.count((self._upper << 32) + 1)
        return next(self._numbers)

    def has(self, mark: int) -> bool:
        """Tell whether a mark is one of this process's."""
        return mark >> 32 == self._upper


_marks = _Marks()


def start(argv: Sequence[str], **options: Any) -> tuple[subprocess.Popen[bytes], Lineage]:
    """Start a program in a session and with a mark of its own; ``options`` are those of ``Popen``. OSError if it can't.

    Without ``user``, ``group`` and ``preexec_fn`` CPython starts children by vfork, which is why the mark is not set in
    the child: this process bears it for that moment, while no other thread starts a program here.
    """
    with _marks.lock, _marked(_marks.next()) as mark:
        process = subprocess.Popen(argv, start_new_session=True, **options)
    return process, Lineage(mark, process.pid)


@contextmanager
def _marked(mark: int) -> Iterator[int]:
    try:
        import resource  # noqa: PLC0415 - not every system has it

        before = resource.getrlimit(_LIMIT)
        resource.setrlimit(_LIMIT, (mark, before[1]))
    except (ImportError, OSError, ValueError):
        yield 0
        return
    try:
        yield mark
    finally:
        resource.setrlimit(_LIMIT, before)


# who belongs to whom


def processes() -> list[Process]:
    """Return what lives on this machine, as far as it can be seen; nothing without ``/proc``."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [found for name in names if name.isdigit() and (found := look_at(int(name))) is not None]


def look_at(pid: int) -> Process | None:
    """Return a process, None if it is gone (a zombie is)."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(2048).rpartition(b")")[2].split()
        with open(f"/proc/{pid}/limits", "rb", buffering=0) as file:
            limit = file.read(4096).partition(_LIMIT_LINE)[2].split(None, 1)[0]
    except (OSError, IndexError):
        return None
    if len(fields) <= _STARTED or fields[_STATE] in (b"Z", b"X"):
        return None
    mark = int(limit) if limit.isdigit() else 0
    return Process(pid, int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_STARTED]), mark)


def living(lineages: Collection[Lineage], everything: list[Process] | None = None) -> list[Process]:
    """Return the processes of these lineages that live, among ``everything`` or all that `processes` sees.

    What is in this process's own session is never among them: all that is started here leaves it, and nobody can come
    back. So a program that another thread of the application started while a mark was borne is not taken for one.
    """
    everything = processes() if everything is None else everything
    if not everything:
        return [group for lineage in lineages if (group := _group_of(lineage)) is not None]
    marks = {lineage.mark for lineage in lineages if lineage.mark}
    leaders = {lineage.leader for lineage in lineages if not lineage.mark}
    own = os.getsid(0)
    roots = [
        found for found in everything if found.session != own and (found.mark in marks or found.session in leaders)
    ]
    return _with_descendants(roots, everything)


def _group_of(lineage: Lineage) -> Process | None:
    """Return what stands for a lineage where there is no ``/proc``: its process group, while anybody is in it."""
    try:
        os.killpg(lineage.leader, 0)
    except OSError:
        return None
    return Process(lineage.leader, 0, lineage.leader, 0, 0)


class ThreadChildren:
    """What one thread of this process (by its native id) started by itself, from the moment ``since`` (`ticks`) on.

    For programs that a function starts without `start`: those that `start` has marked belong to another call, which may
    have ended in the same tick in which this one began. One that has lost its parents before the first look is missed.
    Only while ``busy`` says that the thread still is at that function are its children those of the function.
    """

    def __init__(self, thread: int, since: int, busy: Callable[[], bool]) -> None:
        self._thread = thread
        self._since = since
        self._busy = busy
        self._seen: set[tuple[int, int]] = set()

    def _is_marked(self, process: Process) -> bool:
        """Tell whether `start` has started a process; what is in our session has a mark by chance: see `living`."""
        return _marks.has(process.mark) and process.session != os.getsid(0)

    def members(self, everything: list[Process]) -> list[Process]:
        """Return what lives of it."""
        try:
            with open(f"/proc/self/task/{self._thread}/children", "rb") as file:
                pids = {int(pid) for pid in file.read().split()}
        except OSError:
            pids = set()
        if not self._busy():
            pids = set()
        roots = [
            process
            for process in everything
            if process.identity in self._seen
            or (process.pid in pids and process.started >= self._since and not self._is_marked(process))
        ]
        found = _with_descendants(roots, everything)
        self._seen.update(process.identity for process in found)
        return found


def ticks() -> int:
    """Return the present time as ``Process.started`` counts it."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _with_descendants(roots: list[Process], everything: list[Process]) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in everything:
        children.setdefault(process.parent, []).append(process)
    found = {process.pid: process for process in roots}
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop().pid, ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child)
    return list(found.values())
