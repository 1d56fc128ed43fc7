"""Symbolic and hard links."""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, RunCancelled

from .._paths import plain  # noqa: TID252 - as `states` for type checkers
from .arguments import default_owner, expand, normalize_mode, owner_of, preflight, unfit_backup

if TYPE_CHECKING:
    from collections.abc import Callable


_LONGEST = 4095


def symlink(
    name: str,
    target: str,
    force: bool = False,
    backupname: str | None = None,
    makedirs: bool = False,
    user: str | int | None = None,
    group: str | int | None = None,
    mode: Any = None,
    win_owner: Any = None,
    win_perms: Any = None,
    win_deny_perms: Any = None,
    win_inheritance: Any = None,
    atomic: bool = False,
    disallow_copy_and_unlink: bool = False,
    inherit_user_and_group: bool = False,
    follow_symlinks: bool = True,
    **kwargs: Any,
) -> Row:
    """Make ``name`` a link to ``target``, owned by ``user`` and ``group``.

    If ``name`` is something else than a link, it is moved to ``backupname``, replaced with ``force``, or is an error; a
    directory is never removed.
    ``mode`` is that of the directories ``makedirs`` makes.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.symlink")
    user = owner_of(kwargs, user)
    if inherit_user_and_group and filesystem.is_link(name):
        present = _owner(name)
        user, group = user or present[0], group or present[1]
    user, group = default_owner(user, group)
    problem = preflight(name, user, group)
    if problem:
        return failed(name, problem)
    path = plain(name)
    if filesystem.judges() and (problem := _unfit_target(path, target)):
        return failed(name, problem)
    parent = os.path.dirname(path)
    folders = {"user": user, "group": group, "mode": normalize_mode(mode)}
    make = partial(__salt__["file.makedirs"], path, **folders) if makedirs else None
    try:
        if not _leads_to(path, target) and not filesystem.room_for(path, make):
            return failed(name, f"Directory {parent} for symlink is not present")
    except OSError as error:
        return failed(name, f"Unable to create new symlink {path} -> {target}: {error}")
    if is_dry_run():
        row = _would_symlink(name, path, target, force, user, group)
        moved = force or atomic or backupname is not None
        if moved and filesystem.foretells() and filesystem.lexists(path) and not filesystem.is_link(path):
            row = _would_make_way(name, path, target, backupname, force=force, atomic=atomic)
        if row["result"] is None and (problem := _unowned(path, target, user, group)):
            return failed(name, problem)
        if not filesystem.is_directory(parent):
            row["comment"] += (
                f"\n{parent} will be created" if makedirs else f"\nDirectory {parent} for symlink is not present"
            )
        return row
    if filesystem.is_link(path):
        if _leads_to(path, target):
            return _settle_owner(name, path, user, group)
        force = True  # a link to another target is always replaced
    elif filesystem.lexists(path):
        problem = _clear_the_way(path, target, backupname, force, atomic, disallow_copy_and_unlink)
        if problem:
            return failed(name, problem)
    try:
        __salt__["file.symlink"](target, path, force=force, atomic=atomic, follow_symlinks=follow_symlinks)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, f"Unable to create new symlink {path} -> {target}: {error}")
    done = f"Created new symlink {path} -> {target}"
    if _owner(path) != (user, group) and not _own(path, user, group):
        return failed(name, f"{done}, but was unable to set ownership to {user}:{group}", {"new": path})
    return changed(name, done, {"new": path})


def _leads_to(path: str, target: str) -> bool:
    """Return whether there is a link with this target, so that no room is needed for a new one."""
    return filesystem.is_link(path) and os.path.normpath(filesystem.readlink(path)) == os.path.normpath(target)


def _unfit_target(path: str, target: str) -> str:
    """Return the reason why no link can hold a target, "" if one can."""
    if "\0" in target:
        return "'target' must not hold a NUL character"
    if len(os.fsencode(target)) > _LONGEST:
        return f"Unable to create new symlink {path}: 'target' has more than {_LONGEST} bytes"
    return "" if target else f"Unable to create new symlink {path} -> {target}: Could not create '{path}'"


def _owner(name: str) -> tuple[Any, Any]:
    return (
        __salt__["file.get_user"](name, follow_symlinks=False),
        __salt__["file.get_group"](name, follow_symlinks=False),
    )


def _own(name: str, user: Any, group: Any) -> bool:
    """Set the owner of the link itself; return whether it succeeded."""
    try:
        __salt__["file.lchown"](name, user, group)
    except OSError:
        return False
    found = filesystem.lstat(name)
    return (found.st_uid, found.st_gid) == (__salt__["file.user_to_uid"](user), __salt__["file.group_to_gid"](group))


def _is_owned(name: str, user: Any, group: Any) -> bool:
    found = filesystem.lstat(name)
    return (found.st_uid, found.st_gid) == (__salt__["file.user_to_uid"](user), __salt__["file.group_to_gid"](group))


def _settle_owner(name: str, path: str, user: Any, group: Any) -> Row:
    """Correct the owner of a link with the right target, and return the row."""
    if _is_owned(path, user, group):
        return unchanged(name, f"Symlink {path} is present and owned by {user}:{group}")
    if not _own(path, user, group):
        return failed(name, f"Failed to set ownership of symlink {path} to {user}:{group}")
    return changed(name, f"Set ownership of symlink {path} to {user}:{group}", {"ownership": f"{user}:{group}"})


def _unowned(path: str, target: str, user: Any, group: Any) -> str:
    """Return the error of a run that cannot set the owner, "" if it can; for dry runs."""
    stays = _leads_to(path, target)
    found = filesystem.lstat(path) if stays else None
    uid, gid = __salt__["file.user_to_uid"](user), __salt__["file.group_to_gid"](group)
    if not filesystem.refused_owners(uid, gid, found):
        return ""
    if stays:
        return f"Failed to set ownership of symlink {path} to {user}:{group}"
    return f"Created new symlink {path} -> {target}, but was unable to set ownership to {user}:{group}"


def _would_symlink(name: str, path: str, target: str, force: bool, user: Any, group: Any) -> Row:
    if filesystem.is_link(path):
        if filesystem.readlink(path) != target:
            return would_change(name, f"Link {path} target is set to be changed to {target}", {"change": path})
        if _is_owned(path, user, group):
            return unchanged(name, f"The symlink {path} is present")
        now = "{}:{}".format(*_owner(path))
        return would_change(
            name,
            f"The symlink {path} is present, but the ownership of the symlink would be changed from {now} to"
            f" {user}:{group}",
            {"ownership": now},
        )
    if not filesystem.lexists(path):
        return would_change(name, f"Symlink {path} to {target} is set for creation", {"new": path})
    return _would_replace(name, path, target, "symlink", force=force)


def _would_replace(name: str, path: str, target: str, kind: str, *, force: bool) -> Row:
    """Return the row of a dry run that found something else at the place of the link."""
    if force:
        try:
            if filesystem.foretells():
                filesystem.require_removable(path, content=False)
        except OSError as error:
            return failed(name, f"Unable to create new {kind} {path} -> {target}: {error}")
        comment = f"The file or directory {path} is set for removal to make way for a new {kind} targeting {target}"
        return would_change(name, comment)
    return failed(name, f"File or directory exists where the {kind} {path} should be. Did you mean to use force?")


def _would_make_way(name: str, path: str, target: str, backupname: str | None, *, force: bool, atomic: bool) -> Row:
    """Return the row of a dry run with a forecast: no directory is removed, although Salt's dry run says so."""
    problem = _clear_the_way(path, target, backupname, force, atomic, False)
    if not problem and backupname is None and filesystem.is_plain_directory(path):
        error = IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        problem = f"Unable to create new symlink {path} -> {target}: {error}"
    return failed(name, problem) if problem else _would_replace(name, path, target, "symlink", force=True)


def _clear_the_way(
    name: str, target: str, backupname: str | None, force: bool, atomic: bool, disallow_copy_and_unlink: bool
) -> str:
    """Move anything at ``name`` to ``backupname``, if given. Return the error, "" if the link may be made."""
    if backupname is None:
        if force or atomic:
            return ""
        kind = (
            "File"
            if filesystem.is_file(name)
            else "Directory"
            if filesystem.is_directory(name)
            else "File system entry"
        )
        return f"{kind} exists where the symlink {name} should be"
    backupname = plain(backupname)
    if not os.path.isabs(backupname):
        if backupname != os.path.basename(backupname):
            return f"Backupname must be an absolute path or a file name: {backupname}"
        backupname = os.path.join(os.path.dirname(os.path.normpath(name)), backupname)
    if problem := unfit_backup(name, backupname):
        return problem
    if filesystem.lexists(backupname):
        if not force:
            return f"Symlink & backup dest exists and Force not set. {name} -> {target} - backup: {backupname}"
        if not is_dry_run():
            __salt__["file.remove"](backupname)
    try:
        if not filesystem.room_for(backupname):
            return f"Unable to rename {name} to backup {backupname} -> : {os.path.dirname(backupname)} is not present"
        if is_dry_run():
            return ""
        __salt__["file.move"](name, backupname, disallow_copy_and_unlink=disallow_copy_and_unlink)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return f"Unable to rename {name} to backup {backupname} -> : {error}"
    return ""


def hardlink(
    name: str,
    target: str,
    force: bool = False,
    makedirs: bool = False,
    user: str | int | None = None,
    group: str | int | None = None,
    dir_mode: Any = None,
    **kwargs: Any,
) -> Row:
    """Make ``name`` another name of the file ``target``. An existing other file is replaced with ``force`` only.

    ``user``, ``group`` and ``dir_mode`` are those of the directories ``makedirs`` makes.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.hardlink")
    user, group = default_owner(owner_of(kwargs, user), group)
    relative = "" if os.path.isabs(target) else f"Specified target {target} is not an absolute path"
    problem = preflight(name, user, group, relative)
    if problem:
        return failed(name, problem)
    path = plain(name)
    folders = {"user": user, "group": group, "mode": normalize_mode(dir_mode)}
    make = partial(__salt__["file.makedirs"], path, **folders) if makedirs else None
    if is_dry_run():
        return _would_hardlink(name, path, target, force, make)
    for direction, place in (("to", path), ("from", target)):
        if filesystem.is_directory(place):
            return failed(name, f"Unable to hard link {direction} directory {place}")
    if not filesystem.exists(target):
        return failed(name, f"Target {target} for hard link does not exist")
    return _roomless(name, path, target, make) or _make_hardlink(name, path, target, force)


def _roomless(name: str, path: str, target: str, make: Callable[[], object] | None) -> Row | None:
    """Return the row of a hard link whose folder is missing and not made, or on another file system; else None."""
    if filesystem.lexists(path) and _same_file(path, target):
        return None
    try:
        if filesystem.judges():
            _require_one_file_system(path, target)
        if filesystem.foretells():
            filesystem.require_changeable(target)
        if filesystem.room_for(path, make):
            return None
    except OSError as error:
        return failed(name, f"Unable to create new hard link {path} -> {target}: {error}")
    return failed(name, f"Directory {os.path.dirname(path)} for hard link is not present")


def _require_one_file_system(path: str, target: str) -> None:
    """Raise the error of a hard link to another file system; on overlays, only the folder has its number."""
    folder = os.path.dirname(path)
    while not filesystem.is_directory(folder):
        folder = os.path.dirname(folder)
    if filesystem.stat(folder).st_dev != filesystem.stat(os.path.dirname(target)).st_dev:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), target, None, path)


def _make_hardlink(name: str, path: str, target: str, force: bool) -> Row:
    exists = filesystem.lexists(path)
    relinks = exists and __salt__["file.is_hardlink"](path)
    if _is_linked(path, target, force=force):
        return unchanged(name, f"Target of hard link {path} is already pointing to {target}")
    if exists and not relinks and not force:
        return failed(name, f"File exists where the hard link {path} should be")
    forced = {"forced": "File for hard link was forcibly replaced"} if exists and not relinks else {}
    try:
        if exists:
            _replace_by_link(path, target)
        else:
            __salt__["file.link"](target, path)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        action = "set target of" if relinks else "create new"
        return failed(name, f"Unable to {action} hard link {path} -> {target}: {error}")
    done = "Set target of" if relinks else "Created new"
    return changed(name, f"{done} hard link {path} -> {target}", {**forced, "new": path})


def _replace_by_link(path: str, target: str) -> None:
    """Put a hard link in the place of a file. If it cannot be made, the file stays."""
    beside = os.path.join(os.path.dirname(path), residue.name_beside(os.path.basename(path)))
    residue.note_temporary(os.path.abspath(beside))
    __salt__["file.link"](target, beside)
    try:
        filesystem.rename(beside, path)
    finally:
        if filesystem.lexists(beside):  # also if both are the same file meanwhile: then nothing is renamed
            filesystem.remove(beside)


def _is_linked(path: str, target: str, *, force: bool) -> bool:
    """Return whether ``path`` is a name of the target; its only name is in the way of the link, unless ``force``."""
    return filesystem.lexists(path) and _same_file(path, target) and (force or __salt__["file.is_hardlink"](path))


def _same_file(name: str, target: str) -> bool:
    one, other = filesystem.lstat(name), filesystem.lstat(target)
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _would_hardlink(name: str, path: str, target: str, force: bool, make: Callable[[], object] | None) -> Row:
    if not filesystem.exists(target):
        return failed(name, f"Target {target} for hard link does not exist")
    if filesystem.is_directory(target):
        return failed(name, f"Unable to hard link from directory {target}")
    if filesystem.is_directory(path):
        return failed(name, f"Unable to hard link to directory {path}")
    roomless = _roomless(name, path, target, make)
    if roomless is not None:
        return roomless
    if not (filesystem.lexists if filesystem.foretells() else filesystem.exists)(path):
        return would_change(name, f"Hard link {path} to {target} is set for creation", {"new": path})
    if _is_linked(path, target, force=force and filesystem.foretells()):
        return unchanged(name, f"The hard link {path} is presently targetting {target}")
    if not __salt__["file.is_hardlink"](path):
        return _would_replace(name, path, target, "hard link", force=force)
    return would_change(name, f"Link {path} target is set to be changed to {target}", {"change": path})
