"""RunLock: only one run at a time may change a system. Dry runs take no lock.

Who has it clears up after killed runs and cut-off calls: removes their files, names or ends their processes.
"""

from __future__ import annotations

import math
import os
import stat
import sys
import threading
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import asdict

from asyncstate import filesystem, residue
from asyncstate.errors import LoaderError, LockHeld, PathRefused, ResumeRefused
from asyncstate.load.threads import WorkerThreads
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded
from asyncstate.process.ending import reaper
from asyncstate.process.lineage import Lineage, Process, living, program_of
from asyncstate.value import Value

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable

    from asyncstate.residue import Dead


log: logging.Logger = get_logger(__name__)

_NAMED = 10
"""The number of processes that are named one by one."""


class Survivors(Value):
    """The processes found of a dead run: its title, and the marks of its programs."""

    title: str
    marks: list[int]


def clear_residue(directory: str) -> list[Survivors]:
    """Remove the temporary files of dead runs; log, and return, their processes that still run.

    The processes are left alone: their work may be half done, and only a person can decide whether it should go on. So
    the notes of their run stay until the last of them has ended. Only a run that holds the run lock may call this.
    """
    found = []
    for path in residue.all_notes(directory):
        with residue.dead_run(path) as dead:
            if dead is None:
                continue
            if _clear(dead):
                found.append(Survivors(dead.title, dead.marks))
            else:
                log.warning(
                    "%s was killed. To see what it had done: asyncstate runs list; asyncstate replay RUN", dead.title
                )
                residue.forget(path)
    return found


def end_residue(directory: str, lock_dir: str = "") -> None:
    """End the processes of dead runs, wait for their end, and remove their temporary files.

    What is noted in ``lock_dir`` is cleared as by the next run, unless another run has the lock.
    """
    for path in residue.all_notes(directory):
        with residue.dead_run(path) as dead:
            if dead is not None:
                lineages = [Lineage(mark, 0) for mark in dead.marks]
                reaper.end(lineages)
                reaper.wait(lineages)
                _clear(dead)
                residue.forget(path)
    if lock_dir and residue.all_notes(lock_dir):
        with suppress(LockHeld), RunLock(lock_dir):  # taking it clears up
            pass


def still_running(survivors: Iterable[Survivors]) -> str:
    """Return the processes of dead runs that still run, and the command that ends them, as text; "" for none."""
    lineages = [Lineage(mark, 0) for each in survivors for mark in each.marks]
    alive = living(lineages) if lineages else []
    return _named(alive) if alive else ""


def is_anything_cut_off() -> bool:
    """Whether processes of cut-off calls are being ended, or may have left temporary files."""
    return reaper.busy or residue.is_anything_cut_off()


def clear_cut_off() -> None:
    """Wait for the last process of calls that were cut off, and remove their temporary files.

    This includes calls that still run in a thread: they can make no new files.
    """
    reaper.wait()
    for made in residue.cut_off():
        _remove(made)


def _clear(dead: Dead) -> bool:
    """Remove the temporary files of a dead run; return whether processes of it still run, and log them."""
    removed = _remove(dead.temporaries)
    if removed:
        log.info("%s was killed; %d temporary files that it left were removed", dead.title, removed)
    alive = living([Lineage(mark, 0) for mark in dead.marks]) if dead.marks else []
    if alive:
        log.warning("%s was killed, and its processes still run: %s", dead.title, _named(alive))
    return bool(alive)


def _named(alive: list[Process]) -> str:
    named = ", ".join(_described(process) for process in alive[:_NAMED])
    more = f" and {len(alive) - _NAMED} more" if len(alive) > _NAMED else ""
    return f"{named}{more}. Wait for them or end them: kill {' '.join(str(process.pid) for process in alive)}"


def _remove(made: residue.Temporaries) -> int:
    """Remove noted files and directories; return how many there were."""
    folders = set(made.folders)
    return sum(_removed(path, folders) for path in made.paths)


def _removed(path: str, folders: set[int]) -> bool:
    """Remove a noted path; return False if it does not exist or cannot be removed.

    A directory that is none of ``folders`` is removed only if it is empty: it was made a moment before the run died,
    or is another one.
    """
    try:
        found = filesystem.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            filesystem.remove(path)
        elif found.st_ino in folders:
            filesystem.remove_tree(path, found)
        else:
            filesystem.rmdir(path)
    except FileNotFoundError:
        return False
    except (OSError, PathRefused) as error:
        log.warning("a temporary file that was left cannot be removed: %s", error)
        return False
    return True


def _described(process: Process) -> str:
    """Return the ID, program and start time of a process, without its arguments: they may hold secrets."""
    seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / os.sysconf("SC_CLK_TCK")
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - seconds))
    return f"process {process.pid} ({program_of(process.pid)}, since {since})"


PATIENCE = 30.0
"""Seconds to wait for the processes of killed runs, unless ``wait`` is given."""
_LOOK = 0.25
"""Seconds between two scans for these processes."""
_POLL = 0.05
"""Seconds between two attempts to take a held lock. The kernel could wait for it, but that wait cannot be cancelled."""
_HOLDER_LIMIT = 4096
_BACKEND = "anyio._backends._asyncio"
_NAMING = 0.5
"""Seconds in which the process that takes the lock has written its name into the file."""


class Holder(Value):
    """The process that holds a lock, and the local time at which it took it."""

    pid: int
    since: str


async def import_backend(workers: WorkerThreads) -> None:
    """Import what anyio imports when a loop first uses it: in a thread, because that would hold the loop for 30 ms."""
    if _BACKEND not in sys.modules:
        with suppress(ImportError, LoaderError):  # then it is imported on the loop
            await workers.run(import_module, _BACKEND)


class RunLock:
    """A lock file in a directory: the cache directory, as in Salt. The system frees it however its process ends.

    Two locks exclude each other in one process, too. Entering takes the lock, cleans up after runs that were killed,
    and begins the notes of this run. ``async with`` does not block the loop.

    Entering waits at most ``wait`` seconds. Raises LockHeld, which names the holder; OSError if the lock file cannot be
    made; PathRefused if another user could change it. With ``outlast``, for a run that is resumed, it also waits until
    the programs of killed runs have ended, for ``wait`` seconds or `PATIENCE`: they must not work beside the states
    that run again. Raises ResumeRefused, which names them.
    """

    def __init__(
        self,
        directory: str,
        *,
        wait: float = 0.0,
        outlast: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path: str = os.path.join(directory, "run.lock")
        self._directory = directory
        self._wait = wait
        self._pause = pause
        self._outlast = outlast
        self._survivors: list[Survivors] = []
        self._refuse_at = 0.0
        self._gives_up = False
        self._lock: int | None = None
        self._handing = threading.Lock()
        self._stack = ExitStack()
        self._threads = WorkerThreads(idle_seconds=0)

    def holder(self) -> Holder | None:
        """Return the process that the lock file names; None if that has died."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, encoding="utf-8") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                said = msgspec.json.decode(file.read(_HOLDER_LIMIT))
            since = "".join(sign for sign in str(said["since"])[:40] if sign.isprintable())
            holder = Holder(int(said["pid"]), since)
            return holder if _lives(holder.pid) else None
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def __enter__(self) -> Self:
        """Take the lock and record its holder. Raises LockHeld, ResumeRefused, OSError, PathRefused."""
        until = time.monotonic() + self._wait
        while not self._take():
            if time.monotonic() >= until:
                raise self._held()
            self._pause(_POLL)
        try:
            while not self._is_alone():
                self._pause(_LOOK)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Release the lock."""
        self.hand_over()()

    def hand_over(self) -> Callable[[], None]:
        """Return a function that releases the lock, once, at any time; leaving the block no longer does."""
        with self._handing:  # two threads may, if the loop was closed
            lock, self._lock = self._lock, None
        if lock is None:
            return lambda: None
        kept = self._stack.pop_all()

        def release() -> None:
            clear_cut_off()
            kept.close()
            with suppress(OSError):
                os.ftruncate(lock, 0)
            residue.release_lock(lock)

        return release

    def give_up(self) -> None:
        """Stop waiting for another run: entering this lock now raises LockHeld. May be called from any thread."""
        self._gives_up = True

    async def __aenter__(self) -> Self:
        """Take the lock and record its holder. Raises LockHeld, ResumeRefused, OSError, PathRefused."""
        import anyio.lowlevel  # noqa: PLC0415 - only needed with an event loop

        if self._lock is not None:  # its holder has handed it on, to a run
            return self
        until = time.monotonic() + self._wait
        told = False
        try:
            while not await self._threads.run_to_end(self._take):
                if self._gives_up or time.monotonic() >= until:
                    raise self._held()  # noqa: TRY301 - the handler releases nothing then
                if not told:
                    held, told = await self._threads.run_to_end(self._held), True
                    text = "Waiting for another run on this host (process %d, since %s), %.0f s at most"
                    log.info(text, held.pid, held.since, self._wait)
                await anyio.sleep(_POLL)
            while not await self._threads.run_to_end(self._is_alone):  # noqa: ASYNC110 - no event tells of their end
                await anyio.sleep(_LOOK)
            await anyio.lowlevel.checkpoint()  # a cancellation meanwhile
        except BaseException:  # the lock must not stay taken
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Release the lock."""
        if self._lock is not None:
            await self._threads.run_to_end(self.__exit__)

    def _is_alone(self) -> bool:
        """Whether no process of a killed run is left to wait for. Raises ResumeRefused after the wait."""
        left = self._outlast and still_running(self._survivors)
        if not left:
            return True
        now, limit = time.monotonic(), self._wait or PATIENCE
        if not self._refuse_at:
            self._refuse_at = now + limit
            how_long = "for that, however long it takes" if math.isinf(limit) else f"{limit:g} s for that"
            log.warning("The run begins when they have ended; it waits %s", how_long)
        if now < self._refuse_at:
            return False
        raise ResumeRefused(
            f"processes of a killed run still run: {left}. They must not run beside the states that run again. "
            "--wait SECONDS (wait=) waits longer, --force (force=True) goes on beside it."
        )

    def _held(self) -> LockHeld:
        """Return the error that names the holder. Blocks for a moment if the holder is not yet known."""
        until = time.monotonic() + _NAMING
        while (held := self.holder()) is None and time.monotonic() < until:
            time.sleep(_POLL)
        held = held or Holder(0, "")
        return LockHeld(self.path, held.pid, held.since)

    def _take(self) -> bool:
        """Take the lock if it is free, clean up after dead runs and begin the notes; return whether it was free."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        if user := filesystem.who_can_change(self._directory):
            raise PathRefused(
                f"Refusing to keep the lock and notes of a run of root in {self._directory}: {user} can change them. "
                "Name another `cachedir`, or give it and its folders to root (chown root, chmod go-w)."
            )
        lock = residue.take_lock(self.path)
        if lock is None:
            return False
        log.debug("the lock %s is taken", self.path)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        _name_holder(lock, Holder(os.getpid(), since))
        try:
            self._survivors = clear_residue(self._directory)
            title = f"the run of process {os.getpid()}, begun {since}"
            self._stack.enter_context(residue.Notes(self._directory, title))
        except BaseException:
            self._stack.close()
            residue.release_lock(lock)
            raise
        self._lock = lock
        return True


def _name_holder(lock: int, holder: Holder) -> None:
    """Write the holder into the lock file. On a full disk the file is empty, and the lock is held all the same."""
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, encoded(asdict(holder)), 0)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it lives, and belongs to another user
        return True
    return pid > 0
