"""Owner, group and mode of files: reading, comparing, setting."""

from __future__ import annotations

import os
import stat
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, is_dry_run, unchanged
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.filesystem import Access

from .accounts import gid_to_group, group_to_gid, uid_to_user, user_to_uid
from .attributes import check_attributes
from .hashes import get_hash
from .modes import mode_bits, mode_text, normalize_mode
from .paths import expand
from .selinux import check_context

_TYPES = {
    stat.S_IFDIR: "dir",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def status(path: str, follow_symlinks: bool = True) -> os.stat_result:
    """Return the status of ``path``; of the link itself if it leads nowhere. CommandExecutionError if it is missing."""
    if follow_symlinks:
        try:
            return filesystem.stat(path)
        except OSError:
            pass  # for a dangling link, the status of the link itself
    try:
        return filesystem.lstat(path)
    except OSError as error:
        raise CommandExecutionError(f"Path not found: {path}") from error


def stats(path: str, hash_type: str | None = None, follow_symlinks: bool = True) -> dict[str, Any]:
    """Return inode, uid, gid, user, group, atime, mtime, ctime, size, mode ("0644"), type, target and, if wanted, sum.

    ``type`` is one of file, dir, link, char, block, pipe, socket. CommandExecutionError if ``path`` does not exist.
    """
    path = expand(path)
    found = status(path, follow_symlinks)
    row: dict[str, Any] = {
        "inode": found.st_ino,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "group": gid_to_group(found.st_gid),
        "user": uid_to_user(found.st_uid),
        "atime": found.st_atime,
        "mtime": found.st_mtime,
        "ctime": found.st_ctime,
        "size": found.st_size,
        "mode": mode_text(found.st_mode),
    }
    if hash_type:
        row["sum"] = get_hash(path, hash_type)
    row["type"] = _TYPES.get(stat.S_IFMT(found.st_mode), "file")
    row["target"] = os.path.realpath(path) if follow_symlinks else os.path.abspath(path)
    return row


def get_uid(path: str, follow_symlinks: bool = True) -> int:
    """Return the uid of the owner of ``path``."""
    return status(expand(path), follow_symlinks).st_uid


def get_gid(path: str, follow_symlinks: bool = True) -> int:
    """Return the gid of the group of ``path``."""
    return status(expand(path), follow_symlinks).st_gid


def get_user(path: str, follow_symlinks: bool = True) -> int | str:
    """Return the name of the owner of ``path``; the uid if it has no name."""
    return uid_to_user(get_uid(path, follow_symlinks))


def get_group(path: str, follow_symlinks: bool = True) -> int | str:
    """Return the name of the group of ``path``; the gid if it has no name."""
    return gid_to_group(get_gid(path, follow_symlinks))


def get_mode(path: str, follow_symlinks: bool = True) -> str:
    """Return the mode of ``path`` as four or more octal digits."""
    return mode_text(status(expand(path), follow_symlinks).st_mode)


def set_mode(path: str, mode: str | int) -> str:
    """Set the mode and return the one ``path`` has then; an error text if ``mode`` is invalid."""
    path = expand(path)
    text = str(mode).lstrip("0Oo") or "0"
    if not filesystem.exists(path):
        raise CommandExecutionError(f"{path}: File not found")
    bits = mode_bits(text)
    if bits is None:
        return f"Invalid Mode {text}"
    filesystem.give(path, Access(mode=bits))
    return get_mode(path)


def lchown(path: str, user: str | int | None, group: str | int | None) -> None:
    """Set owner and group of ``path`` itself, also if it is a link. An account that does not exist is ignored."""
    uid, gid, _ = _owners(user, group)
    filesystem.give(expand(path), Access(uid, gid), follow=False)


def chown(path: str, user: str | int | None, group: str | int | None) -> str | None:
    """Set owner and group; return None if that worked, else the error."""
    path = expand(path)
    uid, gid, error = _owners(user, group)
    if not filesystem.exists(path):
        if filesystem.is_link(path):
            filesystem.give(path, Access(uid, gid), follow=False)
            return None
        error += "File not found"
    if error:
        return error
    filesystem.give(path, Access(uid, gid))
    return None


def chgrp(path: str, group: str | int) -> str | None:
    """Set the group of ``path``; return None if that worked, else the error."""
    return chown(path, get_uid(path), group)


def _owners(user: str | int | None, group: str | int | None) -> tuple[int, int, str]:
    error = ""
    uid = user_to_uid(user) if user not in (None, "") else -1
    if isinstance(uid, str):
        error, uid = "User does not exist\n", -1
    gid = group_to_gid(group) if group not in (None, "") else -1
    if isinstance(gid, str):
        error, gid = f"{error}Group does not exist\n", -1
    return uid, gid, error


class Wanted:
    """The owner, group and mode that a state wants, as written and as numbers.

    Only given accounts are looked up. A user or group that does not exist differs from that of every file.
    """

    __slots__ = ("bits", "gid", "group", "mode", "uid", "user")

    def __init__(self, user: Any, group: Any, mode: Any) -> None:
        self.user = user or None
        self.group = group or None
        self.mode = normalize_mode(mode)
        self.uid = user_to_uid(user) if self.user is not None else None
        self.gid = group_to_gid(group) if self.group is not None else None
        self.bits = mode_bits(self.mode) if self.mode is not None else None

    def differences(self, found: os.stat_result, *, modeless: bool = False) -> dict[str, Any]:
        """Return the wanted ``user``, ``group`` and ``mode`` where the file differs, as a row reports them."""
        changes: dict[str, Any] = {}
        if self.uid is not None and self.uid != found.st_uid:
            changes["user"] = self.user
        if self.gid is not None and self.gid != found.st_gid:
            changes["group"] = self.group
        if self.mode is not None and not modeless and self.bits != stat.S_IMODE(found.st_mode):
            changes["mode"] = self.mode
        return changes

    def refused(self, found: os.stat_result | None) -> list[str]:
        """Return a dry run's errors about attributes that a run cannot set on the file ``found``, or on a new one."""
        refused = filesystem.refused_owners(self.uid, self.gid, found)
        if self.mode is not None and self.bits is None and filesystem.foretells():
            refused.append("mode")
        return [f"Failed to change {kind} to {getattr(self, kind)}" for kind in refused]

    def access(self, changes: dict[str, Any]) -> Access:
        """Return the part of ``changes`` that can be set, as numbers."""
        return Access(
            self.uid if "user" in changes and isinstance(self.uid, int) else -1,
            self.gid if "group" in changes and isinstance(self.gid, int) else -1,
            self.bits if "mode" in changes and self.bits is not None else -1,
        )


def check_perms(
    name: str,
    ret: Row | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: str | None = None,
    follow_symlinks: bool = False,
    seuser: str | None = None,
    serole: str | None = None,
    setype: str | None = None,
    serange: str | None = None,
) -> tuple[Row, dict[str, Any]]:
    """Give ``name`` this owner, mode, attributes and SELinux context; None leaves one alone.

    Returns the row ``ret`` (a new one for None) with ``changes`` and the errors in ``comment``, and ``lmode``,
    ``luser``, ``lgroup`` as they were. In a dry run nothing is set, and ``result`` is None if something would be.
    """
    name = expand(name)
    if ret:
        earlier = ret["comment"]
    else:
        ret, earlier = unchanged(name), ""
    notes: list[str] = []
    refused: list[str] = []
    found = status(name, follow_symlinks)
    wanted = Wanted(user, group, mode)
    is_link = not follow_symlinks and stat.S_ISLNK(found.st_mode)
    before: dict[str, Any] = {"lmode": mode_text(found.st_mode)}
    if wanted.user is not None:
        before["luser"] = found.st_uid if isinstance(user, int) else uid_to_user(found.st_uid)
    if wanted.group is not None:
        before["lgroup"] = found.st_gid if isinstance(group, int) else gid_to_group(found.st_gid)
    changes = wanted.differences(found, modeless=is_link)
    if changes:
        if is_dry_run():
            filesystem.require_changeable(name, follow=follow_symlinks)
            refused = wanted.refused(found)
            notes += refused
        else:
            changes = _enforce(name, ret, wanted, found, changes, notes, follow_symlinks=follow_symlinks)
        ret["changes"].update(changes)
    if attrs is not None and not is_link and not stat.S_ISDIR(found.st_mode):
        check_attributes(name, ret, attrs, notes)
    if seuser or serole or setype or serange:
        check_context(name, ret, notes, user=seuser, role=serole, type=setype, range=serange)
    if isinstance(earlier, str):
        ret["comment"] = "; ".join([earlier, *notes] if earlier else notes)
    else:
        ret["comment"] = [*earlier, *notes]
    if refused:
        ret["result"], ret["changes"] = False, {}
    elif ret["changes"] and is_dry_run():
        ret["result"] = None
    return ret, before


def _enforce(
    name: str,
    ret: Row,
    wanted: Wanted,
    found: os.stat_result,
    changes: dict[str, Any],
    notes: list[str],
    *,
    follow_symlinks: bool,
) -> Row:
    """Apply ``changes``; return those that worked, and report the errors."""
    access = wanted.access(changes)
    is_link = not follow_symlinks and stat.S_ISLNK(found.st_mode)
    if (access.uid, access.gid) != (-1, -1) and access.mode == -1 and not is_link:
        # changing the owner clears set-user-ID and set-group-ID bits
        access = access.replaced(mode=stat.S_IMODE(found.st_mode))
    try:
        filesystem.give(name, access, follow=follow_symlinks)
    except PermissionError:
        ret["result"] = False
    left = wanted.differences(status(name, follow_symlinks), modeless=is_link)
    for key, value in left.items():
        ret["result"] = False
        notes.append(f"Failed to change {key} to {value}")
    return {key: value for key, value in changes.items() if key not in left}


def mkdir(dir_path: str, user: Any = None, group: Any = None, mode: Any = None) -> bool:
    """Make a directory and its missing parents, all with this owner and mode."""
    directory = os.path.normpath(expand(dir_path))
    if not filesystem.is_directory(directory):
        makedirs_perms(directory, user, group, mode)
    return True


def makedirs_(path: str, user: Any = None, group: Any = None, mode: Any = None) -> str | None:
    """Make the parent directories of ``path``; end a directory with a slash. Returns a text if the parent exists."""
    path = expand(path)
    folder = os.path.normpath(os.path.dirname(path))
    if filesystem.is_directory(folder):
        return f"Directory '{folder}' already exists"
    if filesystem.exists(folder):
        return f"The path '{folder}' already exists and is not a directory"
    if not os.path.isabs(folder):
        raise InvocationError(
            f"Recursive creation for path '{folder}' would result in an infinite loop. Please use an absolute path."
        )
    makedirs_perms(folder, user, group, normalize_mode(mode) if mode else None)
    return None


def makedirs_perms(name: str, user: Any = None, group: Any = None, mode: Any = "0755") -> None:
    """Make directory ``name`` and its missing parents, each with this owner and mode.

    A directory that another chunk makes at the same moment is left as it is.
    """
    missing = []
    folder = expand(name).rstrip("/") or "/"
    while not filesystem.is_directory(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        try:
            filesystem.mkdir(folder)
        except FileExistsError:
            if not filesystem.is_directory(folder):
                raise
        else:
            if user or group or mode:
                check_perms(folder, None, user, group, mode or None)
