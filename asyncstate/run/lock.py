"""RunLock: one run at a time may change a system. Runs that only look are never locked."""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from asyncstate import filesystem, remains
from asyncstate.errors import LockHeld, PathRefused
from asyncstate.run.leftovers import clear_leftovers

if TYPE_CHECKING:
    from filelock import FileLock

_POLL = 0.05
"""Seconds between two attempts to get a lock that is held. The kernel can wait for it, but not be told to stop."""
_HOLDER_LIMIT = 4096


class Holder(NamedTuple):
    """Who holds a lock: a process, and the local time since when."""

    pid: int
    since: str


class RunLock:
    """A lock file in a directory: the cache directory, as in Salt. The system frees it however its process ends.

    Two of them exclude each other in one process, too. Who has it keeps notes of what it makes and starts, and has
    cleared what those left who were killed. Entering waits ``wait`` seconds at most and raises LockHeld, which names
    the holder; OSError if there can be no lock file, PathRefused where others could change it. ``async with`` waits
    without holding up the loop.
    """

    def __init__(self, directory: str, *, wait: float = 0.0) -> None:
        self.path: str = os.path.join(directory, "run.lock")
        self._directory = directory
        self._holder_path = os.path.join(directory, "run.holder")
        self._wait = wait
        self._lock: FileLock | None = None
        self._stack = ExitStack()

    def holder(self) -> Holder | None:
        """Return who said last that they hold the lock; None if nobody does."""
        try:
            descriptor = os.open(self._holder_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, encoding="utf-8") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                said = json.loads(file.read(_HOLDER_LIMIT))
            since = "".join(sign for sign in str(said["since"])[:40] if sign.isprintable())
            return Holder(int(said["pid"]), since)
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def __enter__(self) -> Self:
        """Take the lock and say so. Raises LockHeld and OSError."""
        until = time.monotonic() + self._wait
        while not self._take():
            if time.monotonic() >= until:
                raise self._held()
            time.sleep(_POLL)
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the lock back."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        self._stack.close()
        with suppress(FileNotFoundError):
            os.unlink(self._holder_path)
        lock.release()

    async def __aenter__(self) -> Self:
        """Take the lock and say so. Raises LockHeld and OSError."""
        import anyio  # noqa: PLC0415 - not for those who take it without a loop
        from anyio.to_thread import run_sync  # noqa: PLC0415

        until = time.monotonic() + self._wait
        while True:
            with anyio.CancelScope(shield=True):
                taken = await run_sync(self._take)
            try:
                await anyio.sleep(0 if taken else _POLL)
            except BaseException:  # cancelled meanwhile: it must not stay taken
                await self.__aexit__()
                raise
            if taken:
                return self
            if time.monotonic() >= until:
                raise self._held()

    async def __aexit__(self, *_error: object) -> None:
        """Give the lock back."""
        import anyio  # noqa: PLC0415 - as above
        from anyio.to_thread import run_sync  # noqa: PLC0415

        if self._lock is not None:
            with anyio.CancelScope(shield=True):
                await run_sync(self.__exit__)

    def _held(self) -> LockHeld:
        held = self.holder() or Holder(0, "")
        return LockHeld(self.path, held.pid, held.since)

    def _take(self) -> bool:
        """Take the lock if nobody has it. Then nothing is left of dead runs, and notes are kept."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 - only runs that change something

        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        if user := filesystem.who_can_change(self._directory):
            raise PathRefused(
                f"Refusing to keep the lock and notes of a run of root in {self._directory}: {user} can change them. "
                "Name another `cachedir`, or give it and its folders to root (chown root, chmod go-w)."
            )
        # Each its own lock object: one that is used twice by one process counts its users and lets both in.
        lock = FileLock(self.path, timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return False
        try:
            clear_leftovers(self._directory)
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            title = f"the run of process {os.getpid()}, begun {since}"
            self._stack.enter_context(remains.Notes(self._directory, title))
            self._say_so(since)
        except BaseException:
            self._stack.close()
            lock.release()
            raise
        self._lock = lock
        return True

    def _say_so(self, since: str) -> None:
        """Leave word of who has the lock. On a full disk nobody is named: it is held all the same."""
        new = f"{self._holder_path}.{os.urandom(8).hex()}"
        remains.note_temporary(new)
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"pid": os.getpid(), "since": since}, file)
            os.replace(new, self._holder_path)
        except OSError:
            for path in (new, self._holder_path):
                with suppress(OSError):
                    os.unlink(path)
