"""Removes, copies and moves whole trees, each step relative to a directory that is held open."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from asyncstate.data import mounts
from asyncstate.dunders.context import check_cancelled
from asyncstate.errors import PathRefused
from asyncstate.residue import name_beside, note_folder, note_temporary_in

from . import change, place, reading, rule
from .change import note
from .replacement import NewFiles, copy_attributes, copy_data, copy_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SET_ID = stat.S_ISUID | stat.S_ISGID
_MOUNTS = "/proc/self/mountinfo"
_DEEP = 64
"""The number of directories held open at a time. Deeper ones are moved to the top of the tree and removed there."""


def remove_tree(path: str, known: os.stat_result | None = None) -> None:
    """Remove a directory and all in it. Links are removed, never followed.

    Raises OSError whose ``filename`` is the path that could not be removed; PathRefused if it is not the directory
    ``known`` any longer.
    """
    _require_unmounted(path)
    _require_loose(path)
    with place.parent(path) as here:
        if here.name == ".":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        top = _open_known(here, known)
        removal = _Removal(top)
        try:
            while removal.empty(top, 1, path):
                pass
            os.rmdir(here.name, dir_fd=here.fd)
        except BaseException:
            if removal.began:
                note(path, "removed in part")
            raise
        finally:
            os.close(top)
    note(path, "removed")


def _open_known(entry: place.Place, known: os.stat_result | None) -> int:
    folder = os.open(entry.name, _FOLDER, dir_fd=entry.fd)
    if known is not None and not os.path.samestat(known, os.fstat(folder)):
        os.close(folder)
        raise PathRefused(f"{entry.path} was exchanged while it was opened")
    return folder


def require_removable(path: str, *, content: bool = True, mounted: Sequence[str] | None = None) -> None:
    """Raise the OSError that removing a file, a link or a directory would raise, as far as can be seen before.

    Without ``content``, that of renaming it: what a directory holds does not count. ``mounted`` is what `mount_points`
    returned, for who asks about many paths.
    """
    with place.parent(path) as here:
        if here.name == ".":
            number = errno.EINVAL
        elif change.is_of_the_kernel(here.fd):
            number = errno.EPERM
        else:
            number = change.refusal(here)
        if number:
            raise OSError(number, os.strerror(number), path)
    _require_unmounted(path, content=content, mounted=mounted)
    if content and reading.is_plain_directory(path):
        _require_loose(path)


def mount_points() -> list[str]:
    """Return the paths at which something is mounted, in the kernel's spelling."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return [line.split(" ", 5)[4] for line in file]
    except OSError:  # a chroot without /proc
        return []


def _require_unmounted(path: str, *, content: bool = True, mounted: Sequence[str] | None = None) -> None:
    """Raise OSError if something is mounted at a path, or with ``content`` below it: it would be emptied, and stay."""
    parent, name = os.path.split(path.rstrip("/"))
    top = mounts.escaped(os.path.join(os.path.realpath(parent), name))
    for point in mount_points() if mounted is None else mounted:
        if point == top or (content and point.startswith(f"{top}/")):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), point)


def _require_loose(path: str) -> None:
    """Raise OSError if something in a directory is immutable or append-only: the rest would be removed."""
    for folder, folders, files in reading.walk(path):
        try:
            with _opened(folder) as here:
                fixed = next((name for name in (".", *folders, *files) if change.is_fixed(name, here)), None)
        except OSError:  # gone meanwhile
            continue
        if fixed is not None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.path.normpath(os.path.join(folder, fixed)))


class _Removal:
    """Removes the content of the tree ``top``. ``began`` is true once some of it is removed."""

    def __init__(self, top: int) -> None:
        self.began = False
        self._top = top

    def empty(self, folder: int, depth: int, path: str) -> bool:
        """Remove everything in ``folder``; return whether some was moved to the top of the tree for later."""
        lifted = depth > _DEEP and _lift(folder, self._top)
        for name in os.listdir(folder):
            try:
                if not _unlinked(name, folder):
                    inner = os.open(name, _FOLDER, dir_fd=folder)
                    try:
                        lifted |= self.empty(inner, depth + 1, os.path.join(path, name))
                    finally:
                        os.close(inner)
                    os.rmdir(name, dir_fd=folder)
                self.began = True
            except OSError as error:
                if error.filename in (None, name):
                    error.filename = os.path.join(path, name)
                raise
        return lifted


def _unlinked(name: str, folder: int) -> bool:
    """Remove a name; return False if it is a directory, True if it is gone, also if another process removed it."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        # For a directory, POSIX returns EPERM and Linux EISDIR. EPERM may also mean an immutable file.
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        return False
    return True


def _lift(folder: int, top: int) -> bool:
    """Move the directories in ``folder`` to the top of the tree; return whether there were any."""
    lifted = False
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.rename(name, f".asyncstate-{os.urandom(8).hex()}", src_dir_fd=folder, dst_dir_fd=top)
            lifted = True
    return lifted


def copy_tree(source: str, target: str, *, keep_owner: bool = False, keep_set_id: bool | None = None) -> None:
    """Copy a directory: links as links, with modes, times and extended attributes, owned by this process's user.

    A new ``target`` appears when it is whole. An entry already in ``target`` stays unless ``source`` has one of the
    same name. A ``target`` within ``source`` is not copied into itself. Set-id bits are kept on files of this process's
    user; ``keep_set_id`` keeps them on all files or on none. ``keep_owner`` is only for a tree that no other user could
    change. Raises PathRefused for pipes, devices and sockets, and for hard links that others could have made.
    """
    with _opened(source) as here:
        if reading.is_directory(target):
            with _opened(target) as there:
                note(target, "changed")
                copy = _Copy(there, NewFiles(), keep_owner=keep_owner, keep_set_id=keep_set_id)
                copy.content(here, there, source, target)
            return
        change.makedirs(os.path.dirname(target.rstrip("/")) or ".")
        with place.parent(target) as beside:
            new = name_beside(beside.name)
            note_temporary_in(beside.fd, new)
            os.mkdir(new, 0o700, dir_fd=beside.fd)
            try:
                with _inner(new, beside.fd) as there:
                    note_folder(os.fstat(there))
                    files = NewFiles(is_temporary=True)
                    copy = _Copy(there, files, keep_owner=keep_owner, keep_set_id=keep_set_id)
                    copy.content(here, there, source, target)
                    copy.finish(here, there)
                check_cancelled()
                os.rename(new, beside.name, src_dir_fd=beside.fd, dst_dir_fd=beside.fd)
            except BaseException:
                _remove_inner(new, beside.fd)
                raise
        note(target, "created")


def require_copyable(source: str) -> None:
    """Raise the PathRefused of `copy_tree`, for the first entry of a tree that it would refuse."""
    with _opened(source):
        pass
    for folder, _, names in reading.walk(source):
        with _opened(folder) as here:
            for name in names:
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
                if not stat.S_ISLNK(found.st_mode):
                    _require_copyable(found, here, os.path.join(folder, name))


def _remove_inner(name: str, folder: int) -> None:
    """Remove a directory that this process has made, as far as that is possible."""
    with suppress(OSError):
        with _inner(name, folder) as top:
            removal = _Removal(top)
            while removal.empty(top, 0, name):
                pass
        os.rmdir(name, dir_fd=folder)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    folder = place.open_folder(path)
    try:
        readable = os.open(".", _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield readable
    finally:
        os.close(readable)


@contextmanager
def _inner(name: str, folder: int) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Copy:
    def __init__(self, target: int, files: NewFiles, *, keep_owner: bool, keep_set_id: bool | None) -> None:
        self.target = os.fstat(target)
        self.files = files
        self.keep_owner = keep_owner
        self.keep_set_id = keep_set_id

    def content(self, source: int, target: int, path: str, copied: str) -> None:
        """Copy everything in a directory; ``path`` and ``copied`` are the names of both."""
        for name in os.listdir(source):
            where, to = os.path.join(path, name), os.path.join(copied, name)
            try:
                found = os.stat(name, dir_fd=source, follow_symlinks=False)
                mode = found.st_mode
                if os.path.samestat(found, self.target):
                    continue
                if stat.S_ISLNK(mode):
                    self._link(name, source, target)
                elif stat.S_ISDIR(mode):
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=target)
                    with _inner(name, source) as here, _inner(name, target) as there:
                        self.content(here, there, where, to)
                        self.finish(here, there)
                else:
                    _require_regular(mode, where)
                    self._file(name, source, target, where, to)
            except OSError as error:
                if error.filename in (None, name):
                    error.filename = where
                raise

    def _link(self, name: str, source: int, target: int) -> None:
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        _clear(name, target)
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        if self.keep_owner:
            os.chown(name, found.st_uid, found.st_gid, dir_fd=target, follow_symlinks=False)

    def _file(self, name: str, source: int, target: int, where: str, to: str) -> None:
        descriptor = os.open(name, _READ, dir_fd=source)
        try:
            _require_copyable(os.fstat(descriptor), source, where)
            with self.files.file(name, target, to) as copied:
                copy_data(descriptor, copied)
                self.finish(descriptor, copied)
        finally:
            os.close(descriptor)

    def finish(self, source: int, target: int) -> None:
        """Give a copy owner, attributes, mode and times."""
        found = os.fstat(source)
        if self.keep_owner:
            os.fchown(target, found.st_uid, found.st_gid)
        copy_attributes(f"/proc/self/fd/{source}", target)
        mode = stat.S_IMODE(found.st_mode)
        keep = found.st_uid == os.geteuid() if self.keep_set_id is None else self.keep_set_id
        os.fchmod(target, mode if keep or stat.S_ISDIR(found.st_mode) else mode & ~_SET_ID)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _require_copyable(found: os.stat_result, folder: int, where: str) -> None:
    """Raise PathRefused for ``found`` in an open ``folder`` if it is no file, or a hard link of another user."""
    _require_regular(found.st_mode, where)
    if found.st_nlink <= 1 or not rule.is_root():
        return
    place_of_it = os.fstat(folder)
    who = rule.NOBODY_KNOWN if rule.is_shared(place_of_it) else rule.changer(folder, place_of_it)
    if who is not None and who != found.st_uid:
        raise PathRefused(
            f"Refusing to copy {where}: it is a hard link to a file of {rule.name_of(found.st_uid)} that "
            f"{rule.name_of(who)} could have put there"
        )


def _require_regular(mode: int, where: str) -> None:
    if not stat.S_ISREG(mode):
        raise PathRefused(f"Refusing to copy {where}: it is not a regular file, directory or link")


def _clear(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def move(source: str, target: str) -> None:
    """Move a file or a tree, across file systems too; into a directory ``target``, or FileExistsError if taken."""
    if reading.is_directory(target):
        target = os.path.join(target, os.path.basename(source.rstrip("/")))
        if reading.lexists(target):
            raise FileExistsError(errno.EEXIST, f"Destination path '{target}' already exists")
    try:
        change.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_across(source, target)


def _remove_aside(path: str) -> None:
    """Remove a tree under a temporary name: what cannot be removed is not taken for the tree in the next run."""
    with place.parent(path) as folder:
        aside = name_beside(folder.name)
        note_temporary_in(folder.fd, aside)
        note_folder(folder.lstat())
        os.rename(folder.name, aside, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    remove_tree(os.path.join(os.path.dirname(path.rstrip("/")), aside))


def _move_across(source: str, target: str) -> None:
    if f"{os.path.realpath(target)}/".startswith(f"{os.path.realpath(source)}/"):  # it would be removed with the source
        raise OSError(errno.EINVAL, f"Cannot move '{source}' into itself '{target}'")
    found = reading.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        change.symlink(reading.readlink(source), target)
        change.remove(source)
    elif stat.S_ISDIR(found.st_mode):
        require_removable(source)
        copy_tree(source, target, keep_owner=True)
        _remove_aside(source)
    else:
        copy_file(source, target, keep_times=True)
        change.remove(source)
