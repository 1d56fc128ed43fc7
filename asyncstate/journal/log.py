"""The log of one run: a file that only grows, locked as long as its run lives."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL = 1.0
"""Seconds after which what was written is safe against a power cut."""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_HELD = 1 << 26
"""Bytes that are held back while the disk is full, at most."""
_PATIENCE = 0.2
"""Seconds between two attempts to write what is held back."""


class RunLog:
    """Writes the log of a run. What `write` has taken is safe against the death of this process once it has returned.

    Within a second it is safe against a power cut, too: a thread syncs the file. With ``sync`` each write is. If the
    file cannot be written (a full disk), ``error`` says why; what was to be written is held back until it can be.
    """

    def __init__(self, path: str, *, sync: bool = False) -> None:
        self.path: str = path
        self.error: OSError | None = None
        """Why the file cannot be written now; None if it can."""
        self._sync = sync
        self._held = b""
        self._again = 0.0
        self._unsynced = False
        self._written = Event()
        self._over = Event()
        self._syncing: Thread | None = None
        self._file = os.open(f"{path}.new", _FLAGS, 0o600)
        # Others look at the final name only, and the file is locked before it gets that name.
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.rename(f"{path}.new", path)

    def write(self, data: bytes | bytearray) -> None:
        """Append lines. Never raises: see ``error``."""
        if self.error is not None:
            self._hold(data)
            if time.monotonic() < self._again:
                return
            data, self._held = self._held, b""
        self._append(data)

    def _append(self, data: bytes | bytearray) -> None:
        written = 0
        try:
            written = os.write(self._file, data)
            while written < len(data):
                written += os.write(self._file, bytes(data[written:]))
            self.error = None
            if self._sync:
                os.fdatasync(self._file)
        except OSError as error:
            self.error = error
            self._again = time.monotonic() + _PATIENCE
            self._hold(data[written:])
            return
        if not self._unsynced and not self._sync:
            self._unsynced = True
            self._wake()

    def _hold(self, data: bytes | bytearray) -> None:
        if len(self._held) + len(data) <= _MOST_HELD:
            self._held += bytes(data)

    def _wake(self) -> None:
        """Have what is written synced within a second."""
        if self._syncing is None:
            self._syncing = Thread(target=self._keep_synced, name="journal", daemon=True)
            try:
                self._syncing.start()
            except RuntimeError:  # no thread can start: each write is synced
                self._sync = True
                return
        self._written.set()

    def _keep_synced(self) -> None:
        while not self._over.is_set():
            self._written.wait()
            self._over.wait(_INTERVAL / 2)
            self._written.clear()
            self._unsynced = False
            self._fdatasync()

    def _fdatasync(self) -> None:
        try:
            os.fdatasync(self._file)
        except OSError as error:
            self.error = self.error or error

    def finish(self) -> bool:
        """Write what is held back, sync the file, and keep it open and locked; return whether all is on the disk."""
        self._over.set()
        self._written.set()
        if self._syncing is not None and self._syncing.ident is not None:
            self._syncing.join()
        if self._held:
            held, self._held = self._held, b""
            self._append(held)
        if self.error is None:
            self._fdatasync()
        return self.error is None

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and remove it first if ``remove``."""
        if remove:
            os.unlink(self.path)
        os.close(self._file)


@contextmanager
def dead_log(path: str) -> Iterator[bytes | None]:
    """Yield the content of the log at ``path``; None if its run lives or the file is gone.

    Nobody else gets it meanwhile.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    with os.fdopen(file, "rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        yield log.read() if os.fstat(log.fileno()).st_nlink else None


def read_log(path: str) -> tuple[bytes, bool] | None:
    """Return the content of a log, and whether its run lives; None if the file is gone."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
            alive = False
            fcntl.flock(log, fcntl.LOCK_UN)
        except OSError:
            alive = True
        return log.read(), alive
