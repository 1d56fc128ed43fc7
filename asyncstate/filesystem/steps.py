"""Walks a path part by part, if it has links or the kernel has no openat2."""

from __future__ import annotations

import errno
import os
import stat

from asyncstate.errors import PathRefused
from asyncstate.value import Value

from . import trust

LINKS = 40
"""The number of links followed before ELOOP: the kernel's."""
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Reached(Value):
    """The end of a path.

    ``fd`` is the file it names, -1 if there is none (yet); ``folder`` contains it, under ``name``. Both are ``O_PATH``
    descriptors, which the caller closes. ``path`` is the given path, with links at its end resolved.
    """

    fd: int
    folder: int
    name: str
    path: str


class _Doubt(Value):
    """A link on the way that ``uid`` could have put there."""

    link: str
    uid: int


def walk(path: str, *, follow: bool) -> Reached:
    """Follow an absolute path by the rule of this package; with ``follow`` a link at its end is followed too.

    Raises OSError as the kernel does; PathRefused for a link that others could have put there.
    """
    steps = _Steps(path, follow=follow)
    try:
        fd = steps.take()
        steps.settle(fd)
    except BaseException:
        steps.close()
        raise
    return Reached(fd, steps.folder, steps.name, steps.path)


def user_on_the_way(path: str, *, within: bool = True) -> int | None:
    """Return a user other than root who can change where an absolute path leads, or what is there; None if none can.

    Stricter than `walk`: a folder like ``/tmp`` counts as one that all users can change. Without ``within``, users who
    can only change the content of the folder at the end do not count. Raises OSError as the kernel does, also
    FileNotFoundError if nothing is there.
    """
    steps = _Steps(path, follow=True)
    try:
        fd = steps.take()
        if fd == -1:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        try:
            found = os.fstat(fd)
            if within:
                own = trust.NOBODY_KNOWN if trust.is_shared(found) else trust.changer(fd, found)
            else:
                is_theirs = trust.is_shared(steps.found) and not trust.is_ours(found.st_uid)
                own = found.st_uid if is_theirs else None
        finally:
            os.close(fd)
        if steps.doubts:
            return steps.doubts[0].uid
        return steps.changer if steps.changer is not None else own
    finally:
        steps.close()


class _Steps:
    def __init__(self, path: str, *, follow: bool) -> None:
        self.path = path
        self.follow = follow or path.endswith("/")
        self.todo = _parts(path)
        self.doubts: list[_Doubt] = []
        self.hops = 0
        self.folder = -1
        self.name = "."
        self._start()

    def _start(self) -> None:
        """Go to ``/``. Users who can change folders on the way here cannot change this one, so `changer` is reset."""
        self.close()
        self.folder = os.open("/", _FOLDER)
        self.found = os.fstat(self.folder)
        self.changer = trust.changer(self.folder, self.found)
        self.at = "/"
        self.name = "."

    def close(self) -> None:
        if self.folder != -1:
            os.close(self.folder)
            self.folder = -1

    def take(self) -> int:
        """Walk to the end of the path; return a descriptor of the entry there, -1 if there is none."""
        if not self.todo:
            return os.open(".", _ANY, dir_fd=self.folder)
        while True:
            self.name = self.todo.pop()
            if self.name == ".." and self.changer is not None:
                self.doubts.append(_Doubt(self.at, self.changer))
            try:
                inner = os.open(self.name, _ANY, dir_fd=self.folder)
            except FileNotFoundError as error:
                if self.todo:
                    error.filename = self.path
                    raise
                return -1
            except OSError as error:
                error.filename = self.path
                raise
            found = os.fstat(inner)
            if stat.S_ISLNK(found.st_mode) and (self.todo or self.follow):
                magic = self._follow(inner, found)
                if magic is None:
                    continue
                os.close(inner)
                inner, found = magic, os.fstat(magic)
            if not self.todo:
                return inner
            self._enter(inner, found)

    def _enter(self, inner: int, found: os.stat_result) -> None:
        self.close()
        self.folder, self.found = inner, found
        self.at = os.path.join(self.at, self.name)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path)
        if self.changer is None:
            self.changer = trust.changer(inner, found)

    def _follow(self, link: int, found: os.stat_result) -> int | None:
        """Replace a link by its target in the parts to do; return a descriptor if only the kernel knows the target."""
        where = os.path.join(self.at, self.name)
        self.hops += 1
        if self.hops > LINKS:
            os.close(link)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path)
        owner_counts = self.changer is not None or trust.is_shared(self.found)
        if owner_counts and not trust.is_ours(found.st_uid):
            self.doubts.append(_Doubt(where, found.st_uid))
        if self.changer is not None:
            self.doubts.append(_Doubt(where, self.changer))
        target = os.readlink("", dir_fd=link)
        if ":[" in target and not target.startswith("/") and not self.doubts:
            return os.open(self.name, os.O_PATH | os.O_CLOEXEC, dir_fd=self.folder)  # /proc/self/fd/0 and the like
        os.close(link)
        if not self.todo:
            self.path = os.path.join(os.path.dirname(self.path.rstrip("/")), target)
        self.todo += _parts(target)
        if target.startswith("/"):
            self._start()
        if not self.todo:
            self.todo.append(".")
        return None

    def settle(self, fd: int) -> None:
        """Raise PathRefused unless the file reached belongs to each user who could have put a link on the way."""
        if not self.doubts:
            return
        end = self.folder if fd == -1 else fd
        owner = os.fstat(end).st_uid
        for doubt in self.doubts:
            if doubt.uid != owner:
                if fd != -1:
                    os.close(fd)
                raise PathRefused(_refusal(doubt.link, doubt.uid, end if fd == -1 else self.folder, owner))


def _refusal(link: str, uid: int, folder: int, owner: int) -> str:
    try:
        place = os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        place = "elsewhere"
    return (
        f"Refusing to follow the symbolic link {link}: {trust.name_of(uid)} can change it, and it leads to {place}, "
        f"which belongs to {trust.name_of(owner)}. Name the path it leads to, or let only root change the way there."
    )


def _parts(path: str) -> list[str]:
    """Return the parts of a path, the last one first, without ``.`` and empty parts."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
