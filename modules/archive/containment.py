"""Keeping unpacked members inside the target directory.

Each member is checked by the rules of Python's own filter (PEP 706), which Python before 3.11.4, as in Debian 12, does
not have. It is then made relative to the open target directory, so that links which are in the target already, or are
put there meanwhile, cannot lead elsewhere.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError
from asyncstate.filesystem import Access, Beneath

if TYPE_CHECKING:
    import tarfile
    from collections.abc import Iterable

NOT_FOR_OTHERS = 0o022 | 0o7000
"""Bits that only the owner may grant: write permission of group and others, and the set-id and sticky bits."""
_OWNER_RW, _OWNER_X, _ALL_X = 0o600, 0o100, 0o111
_MOST_LINKS = 40


class Destination:
    """The directory ``path`` to unpack into, as it will be without the paths ``removed`` and with what was `put` there.

    Without both it is the directory as it is now.
    """

    def __init__(self, path: str, removed: Iterable[str] = ()) -> None:
        self.path = path if path.startswith("/") else os.path.join(os.getcwd(), path)
        self._removed = {_in_real_folder(each.rstrip("/")) for each in removed}
        self._put: dict[str, str] = {}
        self.root: str = self.leads_to(self.path)

    def put(self, name: str, target: str = "") -> None:
        """Count a file as unpacked, or a symbolic link to ``target``."""
        self._put[self._entry(name)] = target

    def has(self, name: str) -> bool:
        """Return whether a file, directory or link is there."""
        path = self._entry(name)
        return path in self._put or (not self._is_removed(path) and filesystem.lexists(path))

    def target(self, name: str) -> str:
        """Return the target of a symbolic link, "" of anything else."""
        return self._target(self._entry(name))

    def holds(self, name: str, *, folder: bool) -> bool:
        """Return whether `Beneath` can make a file or a ``folder``, and whether what is there is no link."""
        above, last = (name, "") if folder else os.path.split(name)
        found = self._walked(self.root, above, within=True)
        return bool(found) and (folder or not self._target(os.path.join(found, last)))

    def _entry(self, name: str) -> str:
        folder, last = os.path.split(os.path.join(self.path, name))
        return os.path.join(self.leads_to(folder), last)

    def leads_to(self, path: str) -> str:
        """Return a path with all links followed."""
        return self._walked("/", path)

    def reaches(self, name: str) -> bool:
        """Return whether the way to ``name`` stays below the directory with each link, as `Beneath` demands."""
        return bool(self._walked(self.root, name, within=True))

    def _walked(self, start: str, path: str, *, within: bool = False) -> str:
        found, links, ahead = start, 0, path.split("/")[::-1]
        while ahead:
            part = ahead.pop()
            if part == "..":
                if within and found == start:
                    return ""
                found = os.path.dirname(found)
            elif part not in ("", "."):
                above, found = found, os.path.join(found, part)
                target = self._target(found)
                if target and links < _MOST_LINKS:
                    if within and (target.startswith("/") or not Beneath.follows_links()):
                        return ""
                    links += 1
                    found = "/" if target.startswith("/") else above
                    ahead += target.split("/")[::-1]
        return found

    def _target(self, path: str) -> str:
        if path in self._put:
            return self._put[path]
        try:
            return filesystem.readlink(path) if os.path.islink(path) and not self._is_removed(path) else ""
        except OSError:  # no link
            return ""

    def _is_removed(self, path: str) -> bool:
        if not self._removed:
            return False
        while path not in self._removed and path != "/":
            path = os.path.dirname(path)
        return path in self._removed


def _in_real_folder(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def require_contained(member: tarfile.TarInfo, dest: Destination) -> str:
    """Return the name of a member below ``dest``.

    Raises CommandExecutionError for a member whose name or link target leads outside ``dest``, for a device, and for a
    hard link to a file that is not there.
    """
    name = member.name.lstrip("/")
    if not dest.holds(name, folder=member.isdir()):
        _require_inside(os.path.join(dest.path, name), dest, f"{member.name!r} would be extracted to")
        if not dest.reaches(name if member.isdir() else os.path.dirname(name)):
            raise CommandExecutionError(
                f"{member.name!r} would be extracted through a link that leaves the destination"
            )
    if member.issym() or member.islnk():
        _require_link_inside(member, name, dest)
    elif not (member.isdir() or member.isreg()):
        raise CommandExecutionError(f"{member.name!r} is a special file")
    if member.islnk() and not dest.has(member.linkname):
        raise CommandExecutionError(f"{member.name!r} is a link to {member.linkname!r}, which is not there")
    return name


def extract_member(archive: tarfile.TarFile, member: tarfile.TarInfo, top: Beneath, dest: Destination) -> None:
    """Unpack one member below ``top``, which is ``dest`` as it is now, owned by this process's user.

    Raises CommandExecutionError for one that `require_contained` refuses.
    """
    name = require_contained(member, dest)
    if member.isdir():
        top.mkdir(name)  # with default permissions: those of the archive may lock this process out
    elif member.issym():
        top.symlink(member.linkname, name)
    elif member.islnk():
        top.link(member.linkname, name)
    else:
        content = archive.extractfile(member)
        if content is None:
            raise CommandExecutionError(f"{member.name!r} has no content")
        mode = (member.mode & ~NOT_FOR_OTHERS | _OWNER_RW) & ~(0 if member.mode & _OWNER_X else _ALL_X)
        top.write(name, content, stat.S_IMODE(mode), member.mtime)


def set_directory_modes(top: Beneath, modes: dict[str, int]) -> None:
    """Give directories below ``top`` the modes in the archive, without the bits that only the owner may grant.

    Call it last, as a mode may close a directory to this process itself. A link is left alone.
    """
    for name in sorted(modes, reverse=True):
        if os.path.normpath(name) != "." and top.is_plain_directory(name):
            top.give(name, Access(mode=modes[name] & 0o777 & ~NOT_FOR_OTHERS | _OWNER_RW | _OWNER_X))


def _require_link_inside(member: tarfile.TarInfo, name: str, dest: Destination) -> None:
    if os.path.isabs(member.linkname):
        raise CommandExecutionError(f"{member.name!r} is a link to an absolute path")
    start = dest.path if member.islnk() else os.path.join(dest.path, os.path.dirname(name))
    aim = os.path.join(start, member.linkname)
    _require_inside(aim, dest, f"{member.name!r} would link to")


def _require_inside(path: str, dest: Destination, what: str) -> None:
    """Check the path with links followed, as a link made by an earlier member must not lead outside."""
    real = dest.leads_to(path)
    if os.path.commonpath([real, dest.root]) != dest.root:
        raise CommandExecutionError(f"{what} {real!r}, which is outside the destination")
