"""Keeping what is unpacked inside its target.

Python's own filter (PEP 706) does it where there is one. Python 3.11 before 3.11.4 has none, and that is what Debian 12
ships: there the same rules are kept by hand.
"""

from __future__ import annotations

import copy
import os
import tarfile

from asyncstate.errors import CommandExecutionError

_NOT_FOR_OTHERS = 0o022 | 0o7000
"""Write permission of others, and the set-id and sticky bits."""
_OWNER_RW, _OWNER_X, _ALL_X = 0o600, 0o100, 0o111


def extract_member(archive: tarfile.TarFile, member: tarfile.TarInfo, dest: str) -> None:
    """Unpack one member below ``dest``, owned by this process's user.

    CommandExecutionError for a member that would leave ``dest``, by its name or by what it links to, and for a device.
    """
    if not hasattr(tarfile, "data_filter"):
        extract_by_hand(archive, member, dest)
        return
    try:
        archive.extract(member, dest, filter="data")
    except tarfile.FilterError as error:
        raise CommandExecutionError(str(error)) from error


def extract_by_hand(archive: tarfile.TarFile, member: tarfile.TarInfo, dest: str) -> None:
    """Do what `extract_member` does, without Python's filter."""
    name = member.name.lstrip("/")
    target = os.path.join(dest, name)
    _require_inside(target, dest, f"{member.name!r} would be extracted to")
    if member.isdir():
        os.makedirs(target, exist_ok=True)  # with the permissions of this process: an archive's may lock it out
        return
    if member.islnk() or member.issym():
        _require_link_inside(member, target, dest)
    elif not member.isreg():
        raise CommandExecutionError(f"{member.name!r} is a special file")
    tame = copy.copy(member)
    tame.name = name
    tame.uid, tame.gid = os.geteuid(), os.getegid()
    if member.isreg() or member.islnk():
        tame.mode = (member.mode & ~_NOT_FOR_OTHERS | _OWNER_RW) & ~(0 if member.mode & _OWNER_X else _ALL_X)
    archive.extract(tame, dest, numeric_owner=True)


def set_directory_modes(dest: str, modes: dict[str, int]) -> None:
    """Give directories below ``dest`` the modes an archive has for them, but for what only their owner may grant.

    To be done last: a directory may be closed to this process itself. One that is a link, or behind one, is left alone.
    """
    root = os.path.realpath(dest)
    for name in sorted(modes, reverse=True):
        path = os.path.normpath(os.path.join(root, name.lstrip("/")))
        is_inside = os.path.commonpath([path, root]) == root != path
        if not is_inside or os.path.realpath(path) != path or not os.path.isdir(path):
            continue
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(descriptor, modes[name] & 0o777 & ~_NOT_FOR_OTHERS | _OWNER_RW | _OWNER_X)
        finally:
            os.close(descriptor)


def _require_link_inside(member: tarfile.TarInfo, target: str, dest: str) -> None:
    if os.path.isabs(member.linkname):
        raise CommandExecutionError(f"{member.name!r} is a link to an absolute path")
    start = dest if member.islnk() else os.path.dirname(target)
    aim = os.path.join(start, member.linkname)
    _require_inside(aim, dest, f"{member.name!r} would link to")
    if member.islnk() and not os.path.exists(aim):
        raise CommandExecutionError(f"{member.name!r} is a link to {member.linkname!r}, which is not there")


def _require_inside(path: str, dest: str, what: str) -> None:
    """Compare with symbolic links followed: one that an earlier member planted must not lead out."""
    real, root = os.path.realpath(path), os.path.realpath(dest)
    if os.path.commonpath([real, root]) != root:
        raise CommandExecutionError(f"{what} {real!r}, which is outside the destination")
