"""Notes of what a run would leave behind if it were killed, so that the next run can clear it.

A run removes its temporary files and ends its programs itself, but not if it is killed (``kill -9``, out of memory).
So each run that changes a system keeps a file of notes in its cache directory and holds a lock on it: the names of
temporary files, written before the files are made, and the programs of calls that have not ended. Unlocked notes
belong to a dead run. Only noted names are removed, never names that merely look alike; each has 64 random bits,
so the owner of the folder gains nothing by planting something under one. A directory with content is removed if it is
the one that the run made there, whoever owns it now: the owner of the folder could have renamed another one.

Notes are not synced to the disk. After a power cut no process is left, but a temporary file may stay.

A call that was cut off cannot always remove its temporary files: its thread may wait for a server that does not answer.
So the temporary files of such calls are known here, too (`cut_off`), and a call that was cut off makes no further ones.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from asyncstate.dunders.context import current
from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.dunders.context import CancelToken

TEMPORARY = "temporary"
"""The deed of a call at a path where it keeps a temporary file. Removing that is no change of its row."""
_FOLDER = "remains"
_SUFFIX = ".notes"
_LIMIT = 1 << 26
"""The maximum of bytes of notes that are read: about a million names."""
_KEPT_OF_NAME = 100
_OWN_NAME = lazy_pattern(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
"""The random part of each temporary name. Notes are data: whoever wrote them, they remove nothing else."""
_NUMBER = lazy_pattern(r"[0-9]{1,20}")
_lock = threading.Lock()
_kept: tuple[Notes, ...] = ()
_made: WeakKeyDictionary[CancelToken, Temporaries] = WeakKeyDictionary()
_cut_off: list[Temporaries] = []


class Temporaries(Value):
    """Paths at which temporary files may be left, and the inodes of the directories made at some of them."""

    paths: list[str]
    folders: list[int]


def locked_file(path: str) -> int:
    """Make a new file that is locked while this process lives, and return its descriptor. Raises OSError."""
    new = f"{path}.new"
    file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # Others look at the final name only, and the file is locked before it gets that name.
        fcntl.flock(file, fcntl.LOCK_EX)
        os.rename(new, path)
    except OSError as error:
        error.filename = path
        os.close(file)
        with suppress(OSError):
            os.unlink(new)
        raise
    return file


def take_lock(path: str) -> int | None:
    """Lock a file, which is made if missing, until `release_lock` or the death of this process.

    Return its descriptor; None if it is locked already, even by this process, or was removed. Raises OSError.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if error.errno in {errno.EACCES, errno.EWOULDBLOCK}:
            return None
        error.filename = path
        raise
    if not _is_at(path, file):  # a process that opens the path later gets another file
        os.close(file)
        return None
    if os.fstat(file).st_nlink > 1:  # the holder would be written into a file of another name
        try:
            os.unlink(path)
        finally:
            os.close(file)
        return take_lock(path)
    return file


def release_lock(file: int) -> None:
    """Release the lock of `take_lock`, even if a child of a fork has the file open, too."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


@contextmanager
def left_file(path: str, flags: int = os.O_RDONLY) -> Iterator[int | None]:
    """Yield a descriptor of a `locked_file` whose process has died; None if that lives or the file is gone.

    No other process gets it meanwhile.
    """
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        yield file if _is_at(path, file) else None
    finally:
        os.close(file)


def _is_at(path: str, file: int) -> bool:
    """Whether an open file still has this name: its last holder may have removed or renamed it."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except OSError:
        return False


def is_locked(file: int) -> bool:
    """Whether the process that made a `locked_file`, open as ``file``, lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


class Notes:
    """The notes of one run; a context manager. Raises OSError if the file cannot be made."""

    def __init__(self, directory: str, title: str) -> None:
        folder = os.path.join(directory, _FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._path = os.path.join(folder, os.urandom(8).hex() + _SUFFIX)
        self._file = locked_file(self._path)
        self.write("R", title)

    def write(self, kind: str, text: str) -> None:
        """Add a note. A write that fails (a full disk) is ignored: the run itself must go on."""
        with suppress(OSError):
            os.write(self._file, os.fsencode(f"{kind}{text}\0"))

    def __enter__(self) -> Self:
        global _kept  # noqa: PLW0603 - the process has one set of notes, and several runs may keep them
        with _lock:
            _kept = (*_kept, self)
        return self

    def __exit__(self, *_error: object) -> None:
        global _kept  # noqa: PLW0603
        with _lock:
            _kept = tuple(notes for notes in _kept if notes is not self)
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._file)


def note_temporary(path: str) -> None:
    """Note an absolute path before a temporary file is made there. The note need not be withdrawn.

    Its last part is from `name_beside` or `temporary_path`: notes of a dead run that name anything else are ignored.

    Raises RunCancelled if the call was cut off: the file would never be removed.
    """
    call = current.get(None)
    if call is not None:
        call.done[path] = TEMPORARY
        if call.cancel is not None:
            call.cancel.check()
            _made_by(call.cancel).paths.append(path)
    for notes in _kept:
        notes.write("T", path)


def note_temporary_in(folder: int, name: str) -> None:
    """Note a temporary file before it is made in a folder that is open as the descriptor ``folder``.

    Raises RunCancelled like `note_temporary`.
    """
    if not _kept and current.get(None) is None:
        return
    try:
        path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
    except OSError:  # no /proc
        return
    note_temporary(path)


def note_folder(found: os.stat_result) -> None:
    """Note that a directory is a temporary one, before there is anything in it; its path is noted already."""
    call = current.get(None)
    if call is not None and call.cancel is not None:
        _made_by(call.cancel).folders.append(found.st_ino)
    for notes in _kept:
        notes.write("D", str(found.st_ino))


def _made_by(token: CancelToken) -> Temporaries:
    """Return the temporary files of the call that ``token`` can cut off."""
    while token.parent is not None:
        token = token.parent
    with _lock:
        made = _made.get(token)
        is_first = made is None
        if made is None:
            made = _made[token] = Temporaries([], [])
    if is_first:
        token.on_cancel(partial(_cut_off.append, made))
    return made


def is_anything_cut_off() -> bool:
    """Whether calls that made temporary files were cut off."""
    return bool(_cut_off)


def cut_off() -> list[Temporaries]:
    """Return the temporary files that calls made before they were cut off, and forget them. Most do not exist."""
    found, _cut_off[:] = list(_cut_off), ()
    return found


def note_started(mark: int) -> None:
    """Note the mark of a program before it is started; 0 says that it has none."""
    for notes in _kept if mark else ():
        notes.write("+", str(mark))


def note_ended(marks: list[int]) -> None:
    """Note that the call that started these programs has ended by itself: those still running are wanted."""
    for notes in _kept:
        for mark in filter(None, marks):
            notes.write("-", str(mark))


def name_beside(name: str) -> str:
    """Return a hidden, random name for the temporary file that will replace the file ``name`` in the same folder.

    File systems limit names in bytes (most to 255, eCryptfs to 143), so ``name`` is cut to a number of bytes, between
    two characters.
    """
    kept = os.fsencode(name)[:_KEPT_OF_NAME].decode(sys.getfilesystemencoding(), "ignore")
    return f".{kept}.{os.urandom(8).hex()}"


def temporary_file(prefix: str = "", suffix: str = "", directory: str | None = None) -> tuple[int, str]:
    """Make a new private file and return its descriptor and path, as ``tempfile.mkstemp`` does."""
    path = temporary_path(prefix, suffix, directory)
    note_temporary(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), path


def make_temporary_folder(prefix: str = "", directory: str | None = None) -> str:
    """Make a new private folder and return its path, as ``tempfile.mkdtemp`` does."""
    path = temporary_path(prefix, "", directory)
    note_temporary(path)
    os.mkdir(path, 0o700)
    note_folder(os.lstat(path))
    return path


@contextmanager
def temporary_folder(prefix: str = "", directory: str | None = None) -> Iterator[str]:
    """Make a folder as `make_temporary_folder` does, and remove it with its content at the end of the block."""
    import shutil  # noqa: PLC0415 - imported by most, but not by those who write a single file

    path = make_temporary_folder(prefix, directory)
    try:
        yield path
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(path)


def temporary_path(prefix: str = "", suffix: str = "", directory: str | None = None) -> str:
    """Return a random path at which a temporary file could be made."""
    if directory is None:
        import tempfile  # noqa: PLC0415 - most name a folder

        directory = tempfile.gettempdir()
    folder = os.path.abspath(directory)
    return os.path.join(folder, f"{prefix}{os.urandom(8).hex()}{suffix}")


class Dead(Value):
    """The notes of a dead run: its title, its temporary files that may be left, and the marks of its programs."""

    title: str
    temporaries: Temporaries
    marks: list[int]


@contextmanager
def dead_run(path: str) -> Iterator[Dead | None]:
    """Yield the notes at ``path``, or None if their run lives, or there is no file that can be read.

    No other process gets them.
    """
    with left_file(path) as file:
        dead = None
        with suppress(OSError):
            dead = None if file is None else _read(file)
        yield dead


def forget(path: str) -> None:
    """Remove the notes of a dead run that left nothing else."""
    with suppress(OSError):
        os.unlink(path)


def all_notes(directory: str) -> list[str]:
    """Return the paths of all files of notes in a cache directory, of live and of dead runs."""
    folder = os.path.join(directory, _FOLDER)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(_SUFFIX))
    except OSError:
        return []


def _read(file: int) -> Dead:
    data = b""
    while (more := os.read(file, 1 << 20)) and len(data) < _LIMIT:
        data += more
    title = ""
    temporaries: dict[str, None] = {}
    folders: list[int] = []
    marks: dict[int, None] = {}
    for record in data.split(b"\0")[:-1]:
        kind, text = record[:1], os.fsdecode(record[1:])
        if kind == b"R":
            title = text
        elif kind == b"T" and text.startswith("/") and _OWN_NAME.search(os.path.basename(text)):
            temporaries[text] = None
        elif not _NUMBER.fullmatch(text):
            continue
        elif kind == b"D":
            folders.append(int(text))
        elif kind == b"+":
            marks[int(text)] = None
        elif kind == b"-":
            marks.pop(int(text), None)
    return Dead(title, Temporaries(list(temporaries), folders), list(marks))
