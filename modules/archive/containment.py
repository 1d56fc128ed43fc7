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

NOT_FOR_OTHERS = 0o022 | 0o7000
"""Bits that only the owner may grant: write permission of group and others, and the set-id and sticky bits."""
_OWNER_RW, _OWNER_X, _ALL_X = 0o600, 0o100, 0o111


def require_contained(member: tarfile.TarInfo, dest: str) -> str:
    """Return the name of a member below ``dest``.

    Raises CommandExecutionError for a member whose name or link target leads outside ``dest``, and for a device.
    """
    name = member.name.lstrip("/")
    _require_inside(os.path.join(dest, name), dest, f"{member.name!r} would be extracted to")
    if member.issym() or member.islnk():
        _require_link_inside(member, name, dest)
    elif not (member.isdir() or member.isreg()):
        raise CommandExecutionError(f"{member.name!r} is a special file")
    return name


def extract_member(archive: tarfile.TarFile, member: tarfile.TarInfo, top: Beneath) -> None:
    """Unpack one member below ``top``, owned by this process's user.

    Raises CommandExecutionError for one that `require_contained` refuses, and for a link to a file that is not there.
    """
    name = require_contained(member, top.path)
    if member.isdir():
        top.mkdir(name)  # with default permissions: those of the archive may lock this process out
    elif member.issym():
        top.symlink(member.linkname, name)
    elif member.islnk():
        if not filesystem.lexists(os.path.join(top.path, member.linkname)):
            raise CommandExecutionError(f"{member.name!r} is a link to {member.linkname!r}, which is not there")
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


def _require_link_inside(member: tarfile.TarInfo, name: str, dest: str) -> None:
    if os.path.isabs(member.linkname):
        raise CommandExecutionError(f"{member.name!r} is a link to an absolute path")
    start = dest if member.islnk() else os.path.join(dest, os.path.dirname(name))
    aim = os.path.join(start, member.linkname)
    _require_inside(aim, dest, f"{member.name!r} would link to")


def _require_inside(path: str, dest: str, what: str) -> None:
    """Check the path with links followed, as a link made by an earlier member must not lead outside."""
    real, root = os.path.realpath(path), os.path.realpath(dest)
    if os.path.commonpath([real, root]) != root:
        raise CommandExecutionError(f"{what} {real!r}, which is outside the destination")
