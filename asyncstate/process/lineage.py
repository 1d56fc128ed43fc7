"""Lineages: a program and all its descendants. Sets the marks, and finds the processes."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import residue
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_LIMIT = 10
"""RLIMIT_LOCKS, which the module ``resource`` does not name."""
_LIMIT_LINE = b"Max file locks"
_STATE, _PARENT, _SESSION, _STARTED = 0, 1, 3, 19
"""The positions of fields in ``/proc/PID/stat``, after the name of the program."""


class Lineage(Value):
    """The mark of one started program (0 where marks cannot be set), and its pid.

    ``shared``: the leader works for other calls, too, and took this mark for one of them. Neither it nor the programs
    it started for other calls are members.
    """

    mark: int
    leader: int
    shared: bool = False

    def members(self, everything: list[Process]) -> list[Process]:
        """Return its live processes among ``everything``, a result of `processes`."""
        if not self.shared:
            return living([self], everything)
        own = os.getsid(0)
        marked = [found for found in everything if found.mark == self.mark and found.session != own]
        return _with_descendants([found for found in marked if found.pid != self.leader], everything)


class Process(Value):
    """A live process. ``started`` is in clock ticks since boot; together with ``pid`` it identifies the process.

    Without ``/proc``, ``started`` is 0 and this is a process group.
    """

    pid: int
    parent: int
    session: int
    started: int
    mark: int

    @property
    def identity(self) -> tuple[int, int]:
        """Identifies the process, even after its pid is used again."""
        return self.pid, self.started


class _Marks:
    """Issues marks that are unique on this machine."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process = 0
        self._upper = -1
        self._numbers: Iterator[int] = iter(())

    def next(self) -> int:
        """Return a new mark. Its upper half is random for each process; a fork draws another one."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._upper = (1 << 29) + (int.from_bytes(os.urandom(4), "big") >> 3)
            self._numbers = itertools.count((self._upper << 32) + 1)
        return next(self._numbers)

    def has(self, mark: int) -> bool:
        """Whether this process has issued a mark."""
        return mark >> 32 == self._upper


_marks = _Marks()


def new_mark() -> int:
    """Return a mark for a part of a program's work: a program that sets it is found with all it starts then."""
    with _marks.lock:
        return _marks.next()


def start(argv: Sequence[str], **options: Any) -> tuple[subprocess.Popen[bytes], Lineage]:
    """Start a program in a session and with a mark of its own; ``options`` are those of ``Popen``.

    CPython can use vfork only without ``preexec_fn``, so the mark is not set in the child: this process has it for a
    moment, while a lock keeps other threads from starting programs here. The mark is recorded before (`remains`): this
    process may be killed as soon as the program works. Raises OSError if the program cannot start.
    """
    with _marks.lock:
        mark = _marks.next()
        unmark = _mark(mark)
        if unmark is None:
            mark = 0
        try:
            residue.note_started(mark)
            process = subprocess.Popen(argv, start_new_session=True, **options)
        except BaseException:
            residue.note_ended([mark])
            raise
        finally:
            if unmark is not None:
                unmark()
    return process, Lineage(mark, process.pid)


def _mark(mark: int) -> Callable[[], None] | None:
    """Give this process a mark. Return what takes it away again; None where marks cannot be set."""
    try:
        before = resource.getrlimit(_LIMIT)
        resource.setrlimit(_LIMIT, (mark, before[1]))
    except (OSError, ValueError):
        return None
    return partial(resource.setrlimit, _LIMIT, before)


# finding the processes of a lineage


def processes() -> list[Process]:
    """Return the live processes of this machine, as far as ``/proc`` shows them; an empty list without ``/proc``."""
    return [found for pid in pids() if (found := look_at(pid)) is not None]


def pids() -> list[int]:
    """Return the IDs of all processes that ``/proc`` shows, zombies included; an empty list without ``/proc``."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def program_of(pid: int) -> str:
    """Return the name of a process's program, as the kernel keeps it, without signs for a terminal; "?" if it ended."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return "".join(sign if sign.isprintable() else "?" for sign in file.read(64).rstrip("\n"))
    except OSError:
        return "?"


def look_at(pid: int) -> Process | None:
    """Return a process, or None if it has ended; a zombie has."""
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


def started_at(pid: int) -> float:
    """Return when a process started, in seconds since the epoch, to a hundredth; 0.0 if the kernel does not say."""
    found = look_at(pid)
    if found is None or not found.started:
        return 0.0
    return time.time() - (ticks() - found.started) / os.sysconf("SC_CLK_TCK")


def living(lineages: Collection[Lineage], everything: list[Process] | None = None) -> list[Process]:
    """Return the live processes of these lineages, among ``everything`` or all that `processes` returns.

    A process in the session of this process is never one of them: `start` gives each program a session of its own, and
    a process cannot return to its old one. So a program that another thread of the application starts while this
    process has a mark is not mistaken for a member.
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
    """Return the process group of a lineage, for systems without ``/proc``; None if the group has no process."""
    try:
        os.killpg(lineage.leader, 0)
    except OSError:
        return None
    return Process(lineage.leader, 0, lineage.leader, 0, 0)


def started_here() -> list[Process]:
    """Return the processes that this process has started with `start`, and their descendants."""
    own = os.getsid(0)
    return [process for process in processes() if _marks.has(process.mark) and process.session != own]


class ThreadChildren:
    """The children of one thread of this process (its native ID), started at ``since`` (see `ticks`) or later.

    They are the programs that a function starts without `start`. Marked processes are left out: they may belong to
    another call, which ended in the same clock tick. A child that loses its parent before the first scan is missed.
    Children count only while ``busy()`` is true, that is, while the thread is still in the function.
    """

    def __init__(self, thread: int, since: int, busy: Callable[[], bool]) -> None:
        self._thread = thread
        self._since = since
        self._busy = busy
        self._seen: set[tuple[int, int]] = set()

    def _is_marked(self, process: Process) -> bool:
        """Whether `start` has started a process. In the session of this process a mark means nothing: see `living`."""
        return _marks.has(process.mark) and process.session != os.getsid(0)

    def members(self, everything: list[Process]) -> list[Process]:
        """Return the thread's children in ``everything``, and their descendants."""
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
    """Return the present time in the unit of ``Process.started``."""
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
