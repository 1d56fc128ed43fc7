"""Room for descriptors, processes and threads: requests beyond the limits of this process wait instead of failing.

`places` gives the number of states that may run at once. A `Room` lets a program start when there are descriptors for
its pipes, and starts it again if the system refused for lack of descriptors, processes or memory while other programs
of this process run: the end of each makes room. A `Thread` reports at once whether it could start.
"""

from __future__ import annotations

import errno
import os
import resource
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from asyncstate.dunders.context import CancelToken

T = TypeVar("T")

OF_A_STATE = 2
"""Descriptors of a state that runs a program, where they are few: the pipes of its output."""
WATCHED = 3
"""Descriptors of a state that runs a program, where they suffice: one more reports the end of the program."""
TO_START = 8
"""Descriptors that starting a program takes for a moment: both ends of three pipes, and of one for its errors."""
RESERVE = 12
"""Descriptors kept free for short use: files, imports, sockets, the journal."""
LEAST = 32
"""Descriptors that a run of the command line needs, with one state at a time."""
_AMPLE = 128
"""The number of free descriptors, beside those of running programs, above which none are counted."""
_REFUSALS = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
LOOK = 0.2
"""Seconds between two attempts at a request that the system refused."""
PATIENCE = 5.0
"""Seconds for which the system may refuse while no program of this process ends. Then requests fail, one by one."""
_BEGINNING = 30.0
"""Seconds within which a new thread runs its first line, however busy the machine is."""

TASKS_OF_A_STATE = 3
"""Processes and threads of a state that runs a program: its thread, the program, and one that the program starts."""
SPARE_TASKS = 4
"""Processes and threads kept free for threads beside the states: the journal's, the output's and the reaper's."""
MEMORY_OF_A_STATE = 48
"""MiB of address space of a state: the stack of its thread, its allocations, and the output of a program."""
SPARE_MEMORY = 48
"""MiB of address space kept free for the run itself and its report."""
_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h."""
_MANY_TASKS = 4096
"""The limit of processes above which processes are not counted."""


def limit() -> int:
    """Return the number of descriptors this process may have; a huge number without a limit."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def places(wanted: int) -> tuple[int, str]:
    """Return how many of ``wanted`` states may run at once, at least one, and the reason if they are fewer."""
    most, why = wanted, ""
    files = limit()
    if wanted * WATCHED + _AMPLE > files:
        most = min(most, max(1, (files - _open(0) - RESERVE) // OF_A_STATE))
        why = f"this process may have {files} open files (raise it with ulimit -n, or LimitNOFILE of a service)"
    for allowed, used, how in (_tasks_of_user(), _tasks_of_group()):
        fitting = max(1, (allowed - used - SPARE_TASKS) // TASKS_OF_A_STATE)
        if fitting < most:
            most, why = fitting, f"there may be {allowed} processes and threads, and {used} are there (raise it {how})"
    memory = _address_space()
    if memory is not None:
        fitting = max(1, (memory[0] - memory[1] - SPARE_MEMORY) // MEMORY_OF_A_STATE)
        if fitting < most:
            most, why = fitting, f"this process may have {memory[0]} MiB of memory (raise it with ulimit -v)"
    return most, why if most < wanted else ""


def _address_space() -> tuple[int, int] | None:
    """Return the MiB of address space that this process may have, and has; None without a limit."""
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
    return allowed >> 20, used >> 20


def _tasks_of_user() -> tuple[int, int, str]:
    """Return the number of processes and threads this user may have, and has, and how to raise the limit."""
    how = "with ulimit -u, or LimitNPROC of a service"
    allowed, user = resource.getrlimit(resource.RLIMIT_NPROC)[0], os.getuid()
    if user == 0 or allowed == resource.RLIM_INFINITY or allowed > _MANY_TASKS:  # the limit does not hold for root
        return 1 << 30, 0, how
    from asyncstate.process.lineage import pids  # noqa: PLC0415 - whatever prints needs this module, not that

    return allowed, sum(_tasks(f"/proc/{pid}", user) for pid in pids()), how


def _tasks(process: str, user: int) -> int:
    """Return the number of threads of a process; 0 if it belongs to another user."""
    try:
        return os.stat(f"{process}/task").st_nlink - 2 if os.stat(process).st_uid == user else 0
    except OSError:  # it has ended
        return 0


def _tasks_of_group() -> tuple[int, int, str]:
    """Return the processes and threads that the tightest control group allows, and has, and how to raise the limit."""
    how = "with TasksMax of the service, or --pids-limit of the container"
    least = 1 << 30, 0, how
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return least
    for _, controllers, path in groups:
        if controllers not in ("", "pids"):
            continue
        folder = f"/sys/fs/cgroup{'/' if controllers else ''}{controllers}{path}".rstrip("/")
        while folder.startswith("/sys/fs/cgroup"):
            allowed, used = _number(f"{folder}/pids.max"), _number(f"{folder}/pids.current")
            if allowed is not None and used is not None and allowed - used < least[0] - least[1]:
                least = allowed, used, how
            folder = folder.rpartition("/")[0]
    return least


def _number(path: str) -> int | None:
    """Return the number in a file of the kernel; None if the file says "max" or does not exist."""
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(32)
    except OSError:
        return None
    return int(text) if text.strip().isdigit() else None


def too_few() -> str:
    """Return why this process cannot run a single state, with advice; "" if it can."""
    most = limit()
    if most >= LEAST:
        return ""
    return (
        f"this process may have {most} open files, and a run needs {LEAST} "
        "(raise it with ulimit -n, or LimitNOFILE of a service)"
    )


def _open(running: int) -> int:
    """Return the number of open descriptors. Raises OSError if it cannot open one more."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:  # no /proc: an estimate, from running programs and the usual number
        return running * OF_A_STATE + RESERVE


def is_refusal(error: BaseException | None) -> bool:
    """Whether the system refused for lack of descriptors, processes or memory: another time it may succeed."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


class Thread(threading.Thread):
    """A thread that reports if it cannot start; CPython's own waits for ever for one that has no memory to begin."""

    def start(self) -> None:
        """Start it. Raises RuntimeError if it cannot start, or does not begin."""
        begun = self._started  # type: ignore[attr-defined]
        begun.wait = partial(begun.wait, _BEGINNING)
        try:
            super().start()
        except MemoryError as error:
            raise RuntimeError("can't start new thread: memory ran out") from error
        if not begun.is_set():
            raise RuntimeError("can't start new thread: it did not begin")


def spare_memory() -> None:
    """Where memory is limited, make threads use little of it. To be called before the first thread starts.

    glibc reserves 64 to 128 MiB of addresses for the allocations of each thread; with one arena, all share what there
    is. At the first end of a thread it loads a library, and aborts the process if there is no memory for that, so one
    thread starts and ends now.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    with suppress(ImportError, OSError, AttributeError, MemoryError):  # not glibc
        import ctypes  # noqa: PLC0415 - rarely needed

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    with suppress(RuntimeError):
        thread = Thread(target=int)
        thread.start()
        thread.join()


class Holder(Protocol):
    """Keeps idle threads that it can give up."""

    def give_back(self) -> None:
        """End the idle threads."""


class Room:
    """The running programs of this process, and those that wait to start."""

    def __init__(self, limit: Callable[[], int] = limit) -> None:
        self._limit = limit
        self._news = threading.Condition()
        self._places = 0
        self._starting = 0
        self._hopeless_at: float | None = None
        """When the next refused program fails, if none runs; None if the last one could start."""
        self.holders: WeakSet[Holder] = WeakSet()
        """Objects that give threads back when the system refuses to start a program."""

    def place(self, cancel: CancelToken | None) -> Place:
        """Return a place, to be held in a ``with`` block."""
        return Place(self, cancel)

    def enter(self, cancel: CancelToken | None) -> None:
        """Wait for a place. Raises RunCancelled if the call is cancelled meanwhile."""
        with self._news:
            while not self._fits():
                self._wait(cancel)
            self._places += 1
            self._starting += 1

    def leave(self, *, started: bool) -> None:
        """Give up a place, whose program has started or not."""
        with self._news:
            self._places -= 1
            self._starting -= not started
            self._news.notify_all()

    @property
    def ample(self) -> bool:
        """Whether each running program may have one descriptor more than it needs."""
        return self._places * WATCHED + _AMPLE <= self._limit()

    def started(self) -> None:
        """Record that a program has its descriptors, so the extra ones for its start are free again."""
        with self._news:
            self._starting -= 1
            self._hopeless_at = None
            self._news.notify_all()

    def refused(self, cancel: CancelToken | None) -> bool:
        """Wait until a refused program may start after all; return False if no room can be expected.

        Only a running program makes room by ending; one that waits to start does not. If none runs, programs fail
        one by one, because each failure gives back a thread.
        """
        for holder in list(self.holders):
            holder.give_back()
        with self._news:
            now = time.monotonic()
            if self._places > self._starting:
                self._hopeless_at = None
            elif self._hopeless_at is None:
                self._hopeless_at = now + PATIENCE
            elif now >= self._hopeless_at:
                self._hopeless_at = now + 2 * LOOK
                return False
            self._wait(cancel)
            return True

    def _wait(self, cancel: CancelToken | None) -> None:
        self._news.wait(LOOK)
        if cancel is not None:
            cancel.check()

    def _fits(self) -> bool:
        most = self._limit()
        if not self._places or (self._places + 1) * TO_START + _AMPLE <= most:
            return True
        try:
            return _open(self._places) + (self._starting + 1) * TO_START + RESERVE <= most
        except OSError:
            return False


class Place:
    """One program's place, which is waited for and held in a ``with`` block.

    ``started`` is true once it has started; ``ample``: it may have descriptors to spare. Raises RunCancelled if the
    call is cancelled before there is room.
    """

    def __init__(self, room: Room, cancel: CancelToken | None) -> None:
        self._room = room
        self._cancel = cancel
        self.started: bool = False
        self.ample: bool = False

    def __enter__(self) -> Self:
        self._room.enter(self._cancel)
        self.ample = self._room.ample
        return self

    def __exit__(self, *_error: object) -> None:
        self._room.leave(started=self.started)

    def start(self, start: Callable[[], T]) -> T:
        """Return the result of ``start``. If the system refuses for lack of resources, call it again later.

        Raises OSError from ``start``: at once for any other reason, and in the end if no room appears.
        """
        while True:
            try:
                result = start()
            except OSError as error:
                if not is_refusal(error) or not self._room.refused(self._cancel):
                    raise
            else:
                self.started = True
                self._room.started()
                return result


room: Room = Room()
"""The room of this process."""
