"""Makes files below an open directory, and nowhere else: the names in an archive may be hostile."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Self

from asyncstate.errors import PathRefused

from . import place, rule
from .change import Access, give_descriptor, note
from .replacement import NewFiles, write_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from asyncstate.dunders.context import Deed

_FOLDER = os.O_PATH | os.O_DIRECTORY
_CHUNK = 1 << 20


class Beneath:
    """A directory to make entries in, by relative names: ``with Beneath(path) as top: top.mkdir("a/b")``.

    A link below it is followed if it stays below it; one that leads outside raises PathRefused. If the kernel has no
    openat2, no link is followed. An existing entry is replaced, unless it is a directory.
    """

    __slots__ = ("_files", "_top", "path")

    def __init__(self, path: str) -> None:
        self.path: str = path
        self._top = place.open_folder(path)
        self._files = NewFiles()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._top)

    @staticmethod
    def follows_links() -> bool:
        """Return whether any link is followed."""
        return rule.has_openat2()

    def mkdir(self, name: str) -> None:
        """Make a directory, and its missing parents."""
        os.close(self._folder([part for part in name.split("/") if part not in ("", ".")]))

    def write(self, name: str, stream: IO[bytes], mode: int | None, modified: float | None = None) -> None:
        """Make a file with the content of ``stream``. Without ``mode`` the umask decides its mode."""
        path = os.path.join(self.path, name)
        with self._at(name) as (folder, last):
            is_new = not place.is_taken(last, folder)
            with self._files.file(last, folder, path, 0o666 if mode is None else 0o600) as descriptor:
                while chunk := stream.read(_CHUNK):
                    write_all(descriptor, chunk)
                if mode is not None:
                    os.fchmod(descriptor, mode)
                if modified is not None:
                    os.utime(descriptor, (modified, modified))
            note(path, "created" if is_new else "changed")

    def symlink(self, text: str, name: str) -> None:
        """Make a symbolic link that holds ``text``."""
        with self._at(name) as (folder, last):
            self._clear(name, last, folder)
            os.symlink(text, last, dir_fd=folder)
            self._note(name, "created")

    def link(self, source: str, name: str) -> None:
        """Make ``name`` a hard link to ``source``."""
        with self._at(source) as (one, first), self._at(name) as (other, last):
            self._clear(name, last, other)
            os.link(first, last, src_dir_fd=one, dst_dir_fd=other, follow_symlinks=False)
            self._note(name, "created")

    def give(self, name: str, access: Access) -> None:
        """Set owner and mode of ``name``. Of a symbolic link, the owner of the link itself."""
        with self._at(name) as (folder, last):
            descriptor = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                give_descriptor(descriptor, access)
                self._note(name, "changed")
            finally:
                os.close(descriptor)

    def is_plain_directory(self, name: str) -> bool:
        """Whether ``name`` is a directory, and not a link to one."""
        with suppress(OSError, PathRefused), self._at(name) as (folder, last):
            return stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode)
        return False

    @contextmanager
    def _at(self, name: str) -> Iterator[tuple[int, str]]:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or parts[-1] == "..":
            raise PathRefused(f"{name!r} is no name below {self.path}")
        folder = self._folder(parts[:-1])
        try:
            yield folder, parts[-1]
        except OSError as error:
            error.filename = os.path.join(self.path, name)
            raise
        finally:
            os.close(folder)

    def _folder(self, parts: list[str]) -> int:
        """Open a directory, and make it first if it does not exist."""
        if not parts:
            return os.dup(self._top)
        with suppress(FileNotFoundError):
            return self._open(parts)
        for count in range(1, len(parts)):
            self._made(parts[:count])
        self._made(parts)
        return self._open(parts)

    def _made(self, parts: list[str]) -> None:
        above = self._open(parts[:-1]) if len(parts) > 1 else os.dup(self._top)
        try:
            with suppress(FileExistsError):
                os.mkdir(parts[-1], dir_fd=above)
                self._note("/".join(parts), "created")
        finally:
            os.close(above)

    def _open(self, parts: list[str]) -> int:
        name = "/".join(parts)
        try:
            if not rule.has_openat2():
                return self._by_parts(parts)
            try:
                return rule.open_beneath(self._top, name, _FOLDER)
            except PermissionError:
                return self._by_rule(name)
        except OSError as error:
            error.filename = os.path.join(self.path, name)
            if error.errno in (errno.EXDEV, errno.ELOOP):
                raise PathRefused(f"Refusing to unpack into {error.filename}: a link there leads elsewhere") from error
            raise

    def _by_rule(self, name: str) -> int:
        """Open a folder by the rule of this package: the kernel refused it. OSError (EXDEV) if it lies outside."""
        inner = place.open_folder(os.path.join(self.path, name))
        with suppress(FileNotFoundError):  # a bare chroot has no /proc
            below, top = (os.readlink(f"/proc/self/fd/{each}") for each in (inner, self._top))
            if below.startswith(f"{top.rstrip('/')}/"):
                return inner
        os.close(inner)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    def _by_parts(self, parts: list[str]) -> int:
        folder = os.dup(self._top)
        for part in parts:
            if part == "..":
                os.close(folder)
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            try:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
        return folder

    def _clear(self, name: str, last: str, folder: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(last, dir_fd=folder)
            self._note(name, "removed")

    def _note(self, name: str, deed: Deed) -> None:
        note(os.path.join(self.path, name), deed)
