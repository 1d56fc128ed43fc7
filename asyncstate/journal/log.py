"""The log of one run: a file that only grows, locked as long as its run lives.

A line is a copy into memory that the kernel writes to the file, so it outlives the process and costs no system call.
Behind the last line the file may have bytes that are zero: space for the next ones.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from mmap import ALLOCATIONGRANULARITY, mmap
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from asyncstate.process.descriptors import Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_INTERVAL = 1.0
"""Seconds after which what was written is safe against a power cut."""
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SPACE = 1 << 20
"""Bytes that are reserved and mapped at a time."""
_RESERVING = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})
"""File systems on which a reserved block can be written even if the disk is full by then.

On others (btrfs, ZFS, NFS) the kernel would end the process with SIGBUS, so their logs are written with system calls.
It does so on these, too, if the disk itself fails; with ``sync`` there is no map.
"""
_MOST_HELD = 1 << 26
"""Bytes that are held back while the disk is full, at most."""
_PATIENCE = 0.2
"""Seconds between two attempts to write what is held back."""


class RunLog:
    """Writes the log of a run. What `write` has taken is safe against the death of this process once it has returned.

    Within a second it is safe against a power cut, too: a thread syncs the file. With ``sync`` each write is. If the
    file cannot be written (a full disk), ``error`` says why, and ``trouble`` is called with it; what was to be written
    is held back until it can be.
    """

    def __init__(self, path: str, trouble: Callable[[OSError], None], *, sync: bool = False) -> None:
        self.path: str = path
        self.error: OSError | None = None
        """Why the file cannot be written now; None if it can."""
        self.has_gap: bool = False
        """Whether lines are missing: more than can be held back."""
        self._trouble = trouble
        self._sync = sync
        self._end = 0
        self._map: mmap | None = None
        self._mapped = (0, 0)
        """Where in the file the map begins and ends."""
        self._held = bytearray()
        self._again = 0.0
        self._unsynced = False
        self._written = Event()
        self._over = Event()
        self._syncing: Thread | None = None
        self._file = _created(path)
        self._maps = not sync and _reserves(self._file)
        if sync:
            self._sync_name()

    def write(self, data: bytes | memoryview) -> None:
        """Append lines. Never raises: see ``error``. Once the log is finished, it does nothing."""
        first, last = self._mapped
        end = self._end + len(data)
        space = self._map
        if end > last or space is None:
            self._write_file(data)
            return
        try:
            space[self._end - first : end - first] = data
        except ValueError:  # finished meanwhile, by another thread
            return
        self._end = end
        if not self._unsynced:
            self._wake()

    def _write_file(self, data: bytes | memoryview) -> None:
        """Append lines with system calls, and map the space for the next ones."""
        if self._over.is_set():
            return
        if self.error is not None:
            self._trouble(self.error)
            self._hold(data)
            if time.monotonic() < self._again:
                return
            data, self._held = bytes(self._held), bytearray()
        self._append(data)
        if self.error is None and self._maps:
            self._map_space()

    def _append(self, data: bytes | memoryview) -> None:
        """Write to the file. What cannot be written is held back, and all that follows comes after it."""
        rest = memoryview(data)
        try:
            while rest:
                written = os.pwrite(self._file, rest, self._end)
                self._end += written
                rest = rest[written:]
            self.error = None
            if self._sync:
                os.fdatasync(self._file)
        except OSError as error:
            self._unmap()
            self.error = error
            self._again = time.monotonic() + _PATIENCE
            self._hold(rest)
            self._trouble(error)
            return
        if not self._unsynced and not self._sync:
            self._wake()

    def _map_space(self) -> None:
        """Reserve and map the space behind the last line. Where there is none, system calls go on."""
        first = self._end - self._end % ALLOCATIONGRANULARITY
        self._unmap()
        try:
            os.posix_fallocate(self._file, first, _SPACE)
            self._map = mmap(self._file, _SPACE, offset=first)
            self._mapped = (first, first + _SPACE)
        except (OSError, ValueError):
            self._maps = False

    def _unmap(self) -> None:
        self._mapped = (0, 0)
        if self._map is not None:
            self._map.close()
            self._map = None

    def _hold(self, data: bytes | memoryview) -> None:
        if len(self._held) + len(data) <= _MOST_HELD:
            self._held += data
        else:
            self.has_gap = True

    def _wake(self) -> None:
        """Have what is written synced within a second."""
        self._unsynced = True
        if self._syncing is None:
            self._syncing = Thread(target=self._keep_synced, name="journal", daemon=True)
            try:
                self._syncing.start()
            except RuntimeError:  # no thread can start: each write is a system call, and synced
                self._unmap()
                self._sync, self._maps = True, False
                self._fdatasync()
                return
        self._written.set()

    def _keep_synced(self) -> None:
        self._sync_name()
        while not self._over.is_set():
            self._written.wait()
            self._over.wait(_INTERVAL / 2)
            self._written.clear()
            self._unsynced = False
            self._fdatasync()

    def _sync_name(self) -> None:
        """Sync the folder: without that, a power cut may take the new file's name."""
        try:
            folder = os.open(os.path.dirname(self.path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            self.error = self.error or error

    def _fdatasync(self) -> None:
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # The next line finds no map, so that it is written with a system call, and the error is told.
            self._maps, self._mapped = False, (0, 0)
            self.error = self.error or error

    def _end_syncing(self) -> None:
        self._over.set()
        self._written.set()
        if self._syncing is not None and self._syncing.ident is not None:
            self._syncing.join()

    def finish(self) -> bool:
        """Write what is held back, sync the file, and keep it open and locked; return whether all is on the disk."""
        self._end_syncing()
        self._unmap()
        if self._held:
            held, self._held = bytes(self._held), bytearray()
            self._append(held)
        try:
            os.ftruncate(self._file, self._end)
        except OSError as error:
            self.error = self.error or error
        if self.error is None:
            self._fdatasync()
        return self.error is None

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and remove it first if ``remove``."""
        self._end_syncing()
        self._unmap()
        if remove:
            os.unlink(self.path)
        file, self._file = self._file, -1
        os.close(file)


def _created(path: str) -> int:
    """Return a new, locked file at ``path``. Raises OSError."""
    new = f"{path}.new"
    file = os.open(new, _FLAGS, 0o600)
    try:
        # Others look at the final name only, and the file is locked before it gets that name.
        fcntl.flock(file, fcntl.LOCK_EX)
        os.rename(new, path)
    except OSError:
        os.close(file)
        os.unlink(new)
        raise
    return file


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
        yield _written(log) if os.fstat(log.fileno()).st_nlink else None


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
        return _written(log), alive


def _written(log: BinaryIO) -> bytes:
    """Return what was written to a log. No line has a zero byte; after a power cut a page of them may be missing."""
    data = log.read()
    end = data.find(0)
    return data if end < 0 else data[:end]


def _reserves(file: int) -> bool:
    """Whether the file system of an open file keeps the space that is reserved for it."""
    device = os.fstat(file).st_dev
    place = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            kinds = [mount.partition(" - ")[2].split(" ", 1)[0] for mount in mounts if mount.split(" ", 3)[2] == place]
    except OSError:
        return False
    return bool(kinds) and _RESERVING.issuperset(kinds)
