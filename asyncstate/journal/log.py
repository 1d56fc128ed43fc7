"""The log of one run: a file that only grows, locked as long as its run lives.

A line is a copy into memory that the kernel writes to the file, so it outlives the process and costs no system call;
only the first ones are written as usual.
Behind the last line the file may have bytes that are zero: space for the next ones.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from mmap import ALLOCATIONGRANULARITY, mmap
from threading import Event
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.errors import JournalError, PathRefused
from asyncstate.process.descriptors import Thread
from asyncstate.residue import locked_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


FOLDER = "journal"
SUFFIX = ".log"
"""The suffix of the log of a run under way, or of a killed run."""
ENDED = ".ended"
"""The suffix of the log of an ended run: its last line is its entry, its modification time the start of the run."""
_PLAN = ".plan"
_PLANS = "plans"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def require_own(state_dir: str) -> None:
    """Refuse, as root, a state directory that others can change. Raises PathRefused; OSError if there is none."""
    if user := filesystem.who_can_change(state_dir):
        raise PathRefused(
            f"Refusing to keep the journal of root in {state_dir}: {user} can change it. Name another `state_dir`, or "
            "give it and its folders to root (chown root, chmod go-w)."
        )


def require_folder(state_dir: str) -> None:
    """Raise JournalError if something other than a folder is at the place of the journal."""
    for path in (state_dir, os.path.join(state_dir, FOLDER)):
        if os.path.lexists(path) and not os.path.isdir(path):
            raise JournalError(f"{path} is no folder, so there can be no journal. Move it away.")


def make_folder(state_dir: str) -> str:
    """Make the folder of the logs, and return its path. Raises OSError, PathRefused, JournalError."""
    folder = os.path.join(state_dir, FOLDER)
    if not os.path.isdir(folder):
        require_folder(state_dir)
        filesystem.makedirs(state_dir, 0o700)
    require_own(state_dir)
    if not os.path.isdir(folder):
        filesystem.makedirs(folder, 0o700)
    require_own(folder)
    return folder


def log_path(state_dir: str, run: str) -> str:
    """Return the path of the log of a run that has not ended."""
    return os.path.join(state_dir, FOLDER, f"{run}{SUFFIX}")


def plan_path(log: str) -> str:
    """Return the path of the record of the plan whose run has this log."""
    return os.path.splitext(log)[0] + _PLAN


def logs_in(state_dir: str, *suffixes: str) -> list[str]:
    """Return the paths of the logs of runs under way and killed runs; or of all files with one of ``suffixes``."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffixes or SUFFIX))
    except FileNotFoundError:
        return []


def keep_plan(log: str, key: str, pieces: Callable[[], Iterable[bytes]]) -> None:
    """Keep the record of a plan for the run with this log. Blocks. Raises OSError.

    Runs of one plan share one file, with a name for each run and one for its key. Making the hard link both tests that
    the file exists and keeps it, so no process can remove it in between.
    """
    own, plans = plan_path(log), os.path.join(os.path.dirname(log), _PLANS)
    shared = os.path.join(plans, key)
    with suppress(OSError):
        os.link(shared, own)
        return
    with open(os.open(own, _NEW, 0o600), "wb", buffering=0) as file:
        for piece in pieces():
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]
        os.fdatasync(file)
    with suppress(OSError):  # a file system without links: each run has a file of its own
        os.makedirs(plans, 0o700, exist_ok=True)
        os.link(own, shared)


def remove_run(log: str) -> None:
    """Remove a log and its plan's record, which other runs may keep. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(plan_path(log))
    os.unlink(log)


def remove_unused_plans(state_dir: str) -> None:
    """Remove the records of plans that no run has any longer."""
    with suppress(FileNotFoundError), os.scandir(os.path.join(state_dir, FOLDER, _PLANS)) as plans:
        for plan in plans:
            if plan.stat(follow_symlinks=False).st_nlink == 1:
                os.unlink(plan)


_INTERVAL = 1.0
"""Seconds after which written lines are safe against a power cut."""
_FEW = 1 << 13
"""Bytes that are written with system calls first: a small run needs no map."""
_SPACE = 1 << 20
"""Bytes that are reserved and mapped at a time."""
_RESERVING = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})
"""File systems on which a reserved block can be written even if the disk is full by then.

On others (btrfs, ZFS, NFS) the kernel would end the process with SIGBUS, so their logs are written with system calls.
It does so on these, too, if the disk itself fails; with ``sync`` there is no map.
"""
_MOST_HELD = 1 << 26
"""The maximum of bytes held back while the disk is full."""
_PATIENCE = 0.2
"""Seconds between two attempts to write the bytes held back."""


class RunLog:
    """Writes the log of a run. Once `write` has returned, its lines are safe against the death of this process.

    Within a second they are safe against a power cut, too: a thread syncs the file. With ``sync`` each write is. If the
    file cannot be written (a full disk), ``error`` is the reason, and ``trouble`` is called with it; lines are then
    held back until they can be written.
    """

    def __init__(self, path: str, trouble: Callable[[OSError], None], *, sync: bool = False) -> None:
        self.path: str = path
        self.error: OSError | None = None
        """The error that keeps the file from being written now; None if there is none."""
        self.has_gap: bool = False
        """Whether lines are missing, because more came than can be held back."""
        self._trouble = trouble
        self._sync = sync
        self._end = 0
        self._map: mmap | None = None
        self._first = 0
        """The offset of the map in the file."""
        self._held = bytearray()
        self._again = 0.0
        self._unsynced = False
        self._written = Event()
        self._over = Event()
        self._syncing: Thread | None = None
        self.file: int = locked_file(path)
        self._maps = not sync
        if sync:
            self._sync_name()

    def write(self, data: bytes | bytearray) -> None:
        """Append lines. Never raises: see ``error``. Once the log is finished, it does nothing."""
        space = self._map
        if space is not None:
            try:
                space.write(data)
            except ValueError:  # it is full, or another thread has finished the log meanwhile
                pass
            else:
                if not self._unsynced:
                    self._wake()
                return
        self._write_file(bytes(data))

    def _write_file(self, data: bytes) -> None:
        """Append lines with system calls, and map the space for the next ones."""
        if self._over.is_set():
            return
        self._unmap()
        if self.error is not None:
            self._trouble(self.error)
            self._hold(data)
            if time.monotonic() < self._again:
                return
            data, self._held = bytes(self._held), bytearray()
        self._append(data)
        if self._maps and self._end >= _FEW and self.error is None:
            self._map_space()

    def _append(self, data: bytes) -> None:
        """Write to the file. If that fails, hold the data back, and all later data behind it."""
        rest = memoryview(data)
        try:
            while rest:
                written = os.pwrite(self.file, rest, self._end)
                self._end += written
                rest = rest[written:]
            self.error = None
            if self._sync:
                os.fdatasync(self.file)
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
        """Reserve and map the space behind the last line. Without space, system calls go on."""
        if not _reserves(self.file):
            self._maps = False
            return
        within = self._end % ALLOCATIONGRANULARITY
        first = self._end - within
        try:
            os.posix_fallocate(self.file, first, _SPACE)
            space = mmap(self.file, _SPACE, offset=first)
        except (OSError, ValueError):
            self._maps = False
            return
        space.seek(within)
        self._first, self._map = first, space

    def _unmap(self) -> None:
        space, self._map = self._map, None
        if space is not None:
            self._end = self._first + space.tell()
            space.close()

    def _hold(self, data: bytes | memoryview) -> None:
        if len(self._held) + len(data) <= _MOST_HELD:
            self._held += data
        else:
            self.has_gap = True

    def _wake(self) -> None:
        """Have the written lines synced within a second. Reports the error of the last attempt."""
        self._unsynced = True
        if self.error is not None:
            self._unmap()
            self._maps = False  # the next lines are written with system calls
            self._trouble(self.error)
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
            os.fdatasync(self.file)
        except OSError as error:
            self.error = self.error or error
            self._unsynced = False  # so the next line reports the error

    def _end_syncing(self) -> None:
        self._over.set()
        self._written.set()
        if self._syncing is not None and self._syncing.ident is not None:
            self._syncing.join()

    def finish(self) -> bool:
        """Write held-back data and sync the file, which stays open and locked; return whether all data is on disk."""
        self._end_syncing()
        self._unmap()
        if self._held:
            held, self._held = bytes(self._held), bytearray()
            self._append(held)
        try:
            os.ftruncate(self.file, self._end)
        except OSError as error:
            self.error = self.error or error
        if self.error is None:
            self._fdatasync()
        return self.error is None

    def close(self) -> None:
        """Close the file."""
        self._end_syncing()
        self._unmap()
        file, self.file = self.file, -1
        os.close(file)


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
