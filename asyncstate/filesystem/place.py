"""Opens descriptors for a path: of its target (`pinned`), or of the folder that contains it (`parent`)."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from asyncstate.dunders.context import seen
from asyncstate.errors import PathRefused

from . import rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_THING = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def absolute(path: str) -> str:
    """Return ``path`` as an absolute path, without resolving links or ``..``. Raises FileNotFoundError for ""."""
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return path if path.startswith("/") else os.path.join(os.getcwd(), path)


def descriptor_of(path: str, *, follow: bool = True) -> int:
    """Return an ``O_PATH`` descriptor of ``path``, or of a link itself without ``follow``. The caller closes it.

    Raises OSError as ``open`` does, and PathRefused if the rule of this package forbids the path.
    """
    seen(path)
    if rule.is_root():
        return _reached(path, follow=follow)[0]
    return os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))


def status_of(path: str, *, follow: bool = True) -> os.stat_result:
    """Return the stat of the file that `descriptor_of` would open."""
    seen(path)
    if not rule.is_root():
        return os.stat(path, follow_symlinks=follow)
    descriptor, found = _reached(path, follow=follow)
    os.close(descriptor)
    return found


def _reached(path: str, *, follow: bool) -> tuple[int, os.stat_result]:
    """Return what root's walk by the rule of this package leads to: an ``O_PATH`` descriptor, and its stat."""
    path = absolute(path)
    descriptor = rule.open_without_links(path, _THING)
    if descriptor is not None:
        found = os.fstat(descriptor)
        if not follow or not stat.S_ISLNK(found.st_mode):
            return descriptor, found
        os.close(descriptor)
    reached = rule.walk(path, follow=follow)
    os.close(reached.folder)
    if reached.fd == -1:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return reached.fd, os.fstat(reached.fd)


def open_folder(path: str) -> int:
    """Return an ``O_PATH`` descriptor of a folder. Raises OSError if it does not exist; PathRefused as above."""
    seen(path)
    if not rule.is_root():
        return os.open(path, _FOLDER)
    path = absolute(path)
    descriptor = rule.open_without_links(path, _FOLDER)
    if descriptor is not None:
        return descriptor
    reached = rule.walk(path, follow=True)
    os.close(reached.folder)
    if reached.fd == -1:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if not stat.S_ISDIR(os.fstat(reached.fd).st_mode):
        os.close(reached.fd)
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return reached.fd


class Place:
    """A name in an open folder: ``with parent(path) as place: os.mkdir(place.name, dir_fd=place.fd)``.

    ``fd`` (``O_PATH``) stays the same folder even if the path is changed meanwhile. ``path`` is for messages.
    """

    __slots__ = ("fd", "name", "path")

    def __init__(self, path: str) -> None:
        self.path: str = path
        bare = path.rstrip("/") or path[:1]
        folder, name = os.path.split(bare)
        if name in ("", ".", ".."):
            folder, name = bare, "."
        self.name: str = name
        try:
            self.fd: int = open_folder(folder or ("." if path else ""))
        except OSError as error:
            error.filename = path
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)
        if isinstance(error, OSError) and error.filename == self.name:
            error.filename = self.path

    def lstat(self) -> os.stat_result:
        """Return the stat of the entry; of a link itself."""
        return os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)

    def is_taken(self) -> bool:
        """Whether the entry exists."""
        return is_taken(self.name, self.fd)

    def open(self, flags: int, mode: int = 0o600) -> int:
        """Open the entry without following a link, and without waiting for the other end of a pipe."""
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(self.name, flags, mode, dir_fd=self.fd)


def is_taken(name: str, folder: int) -> bool:
    """Whether an entry exists in an open folder, even a link that leads nowhere."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def parent(path: str) -> Place:
    """Open the folder that contains ``path``; a trailing slash is ignored. Raises as `open_folder` does."""
    return Place(path)


@contextmanager
def pinned(path: str, *, follow: bool = True) -> Iterator[int]:
    """Yield an ``O_PATH`` descriptor of ``path``: it stays the same file even if the path is replaced meanwhile.

    ``/proc/self/fd/N`` is a path to it. A hard link that a user could have planted is refused.
    """
    descriptor = descriptor_of(path, follow=follow)
    try:
        require_own_name(path, os.fstat(descriptor), follow=follow)
        yield descriptor
    finally:
        os.close(descriptor)


def reopened(pinned: int, path: str, flags: int) -> int:
    """Open the file of the ``O_PATH`` descriptor ``pinned`` for reading or writing; the caller closes it.

    Without ``/proc``, as in a bare chroot, it is opened by ``path`` again; PathRefused if that is another file now.
    """
    try:
        return os.open(f"/proc/self/fd/{pinned}", flags | os.O_CLOEXEC)
    except FileNotFoundError:
        reached = rule.walk(absolute(path), follow=True)
    try:
        again = os.open(reached.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=reached.folder)
        if not os.path.samestat(os.fstat(again), os.fstat(pinned)):
            os.close(again)
            raise PathRefused(f"{path} was exchanged while it was opened")
        return again
    finally:
        os.close(reached.folder)
        if reached.fd != -1:
            os.close(reached.fd)


def require_own_name(path: str, found: os.stat_result, *, follow: bool = True) -> None:
    """Raise PathRefused if ``path`` is a hard link that a user other than the owner of the file could have made."""
    if found.st_nlink <= 1 or not stat.S_ISREG(found.st_mode) or not rule.is_root():
        return
    reached = rule.walk(absolute(path), follow=follow)
    try:
        if reached.fd == -1 or not os.path.samestat(os.fstat(reached.fd), found):
            raise PathRefused(f"{path} was exchanged while it was opened")
        folder = os.fstat(reached.folder)
        who = rule.NOBODY_KNOWN if rule.is_shared(folder) else rule.changer(reached.folder, folder)
    finally:
        os.close(reached.folder)
        if reached.fd != -1:
            os.close(reached.fd)
    if who is not None and who != found.st_uid:
        raise PathRefused(
            f"Refusing to use {path}: the file has {found.st_nlink} names and belongs to "
            f"{rule.name_of(found.st_uid)}, but {rule.name_of(who)} could have put it there. Remove that name, or "
            "copy the file."
        )


def resolved(path: str) -> str:
    """Follow links in the last part of ``path``, by the rule of this package: the file that an edit would write.

    The other parts stay as they are. Raises PathRefused for a link that others could have planted; OSError for a path
    with a slash at its end, which never names a file.
    """
    if path.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not rule.is_root():
        for _ in range(rule.LINKS):
            try:
                path = os.path.join(os.path.dirname(path), os.readlink(path))
            except OSError:
                return path
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    path = absolute(path)
    try:
        descriptor = descriptor_of(path, follow=False)
    except OSError:
        return path
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            return path
    finally:
        os.close(descriptor)
    reached = rule.walk(path, follow=True)
    os.close(reached.folder)
    if reached.fd != -1:
        os.close(reached.fd)
    return reached.path
