"""RunLock: one run at a time may change a system. Runs that only look are never locked."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from asyncstate.errors import LockHeld

if TYPE_CHECKING:
    from types import TracebackType

    from filelock import FileLock


class Holder(NamedTuple):
    """Who holds a lock: a process, and the local time since when."""

    pid: int
    since: str


class RunLock:
    """A lock file in a directory: the cache directory, as in Salt. The system frees it however its process ends.

    Entering waits ``wait`` seconds at most and raises LockHeld, which names the holder; OSError if there can be no lock
    file. It blocks: take it before an event loop runs.
    """

    def __init__(self, directory: str, *, wait: float = 0.0) -> None:
        self.path = os.path.join(directory, "run.lock")
        self._holder_path = os.path.join(directory, "run.holder")
        self._wait = wait
        self._lock: FileLock | None = None

    def holder(self) -> Holder | None:
        """Return who said last that they hold the lock; None if nobody does."""
        try:
            with open(self._holder_path, encoding="utf-8") as file:
                said = json.load(file)
            return Holder(int(said["pid"]), str(said["since"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def __enter__(self) -> Self:
        """Take the lock and say so. Raises LockHeld and OSError."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 - only runs that change something

        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        lock = FileLock(self.path, timeout=self._wait, mode=0o600)
        try:
            lock.acquire(poll_interval=0.05)
        except Timeout:
            held = self.holder() or Holder(0, "an unknown time")
            raise LockHeld(self.path, held.pid, held.since) from None
        self._lock = lock
        self._say_so()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Give the lock back."""
        with suppress(FileNotFoundError):
            os.unlink(self._holder_path)
        if self._lock is not None:
            self._lock.release()

    def _say_so(self) -> None:
        new = f"{self._holder_path}.{os.getpid()}"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}, file)
        os.replace(new, self._holder_path)
