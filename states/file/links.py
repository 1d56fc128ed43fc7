"""Symbolic and hard links."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import AsyncStateError, RunCancelled

from .rows import Row, default_owner, expand, failed, is_dry_run, new_row, normalize_mode, owner_of, plain, preflight

Verdict = tuple[bool | None, str, Row]


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

    What is no link and stands in the way is moved to ``backupname``, removed with ``force``, or an error. ``mode`` is
    that of the directories ``makedirs`` makes.
    """
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.symlink")
    user = owner_of(kwargs, user)
    if inherit_user_and_group and filesystem.is_link(name):
        present = _owner(name)
        user, group = user or present[0], group or present[1]
    user, group = default_owner(user, group)
    problem = preflight(name, user, group)
    if problem:
        return failed(ret, problem)
    name = plain(name)
    parent = os.path.dirname(name)
    if is_dry_run():
        ret["result"], ret["comment"], ret["changes"] = _symlink_verdict(name, target, force, user, group)
        if not filesystem.is_directory(parent):
            ret["comment"] += (
                f"\n{parent} will be created" if makedirs else f"\nDirectory {parent} for symlink is not present"
            )
        return ret
    if not filesystem.is_directory(parent):
        if not makedirs:
            return failed(ret, f"Directory {parent} for symlink is not present")
        __salt__["file.makedirs"](path=name, user=user, group=group, mode=normalize_mode(mode))
    if filesystem.is_link(name):
        if os.path.normpath(filesystem.readlink(name)) == os.path.normpath(target):
            return _settle_owner(ret, name, user, group)
        force = True  # a link that leads elsewhere is always replaced
    elif filesystem.lexists(name):
        problem = _clear_the_way(name, target, backupname, force, atomic, disallow_copy_and_unlink)
        if problem:
            return failed(ret, problem)
    try:
        __salt__["file.symlink"](target, name, force=force, atomic=atomic, follow_symlinks=follow_symlinks)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(ret, f"Unable to create new symlink {name} -> {target}: {error}")
    ret["comment"] = f"Created new symlink {name} -> {target}"
    ret["changes"]["new"] = name
    if _owner(name) != (user, group) and not _own(name, user, group):
        ret["result"] = False
        ret["comment"] += f", but was unable to set ownership to {user}:{group}"
    return ret


def _owner(name: str) -> tuple[Any, Any]:
    return (
        __salt__["file.get_user"](name, follow_symlinks=False),
        __salt__["file.get_group"](name, follow_symlinks=False),
    )


def _own(name: str, user: Any, group: Any) -> bool:
    """Set the owner of the link itself and tell whether that worked."""
    try:
        __salt__["file.lchown"](name, user, group)
    except OSError:
        return False
    found = filesystem.lstat(name)
    return (found.st_uid, found.st_gid) == (__salt__["file.user_to_uid"](user), __salt__["file.group_to_gid"](group))


def _is_owned(name: str, user: Any, group: Any) -> bool:
    found = filesystem.lstat(name)
    return (found.st_uid, found.st_gid) == (__salt__["file.user_to_uid"](user), __salt__["file.group_to_gid"](group))


def _settle_owner(ret: Row, name: str, user: Any, group: Any) -> Row:
    """Finish a link that leads where it should."""
    if _is_owned(name, user, group):
        ret["comment"] = f"Symlink {name} is present and owned by {user}:{group}"
    elif _own(name, user, group):
        ret["comment"] = f"Set ownership of symlink {name} to {user}:{group}"
        ret["changes"]["ownership"] = f"{user}:{group}"
    else:
        failed(ret, f"Failed to set ownership of symlink {name} to {user}:{group}")
    return ret


def _symlink_verdict(name: str, target: str, force: bool, user: Any, group: Any) -> Verdict:
    """Return result, comment and changes of a dry run."""
    if filesystem.is_link(name):
        if filesystem.readlink(name) != target:
            return None, f"Link {name} target is set to be changed to {target}", {"change": name}
        if _is_owned(name, user, group):
            return True, f"The symlink {name} is present", {}
        now = "{}:{}".format(*_owner(name))
        return (
            None,
            (
                f"The symlink {name} is present, but the ownership of the symlink would be changed "
                f"from {now} to {user}:{group}"
            ),
            {"ownership": now},
        )
    if not filesystem.lexists(name):
        return None, f"Symlink {name} to {target} is set for creation", {"new": name}
    if force:
        return (
            None,
            f"The file or directory {name} is set for removal to make way for a new symlink targeting {target}",
            {},
        )
    return (
        False,
        f"File or directory exists where the symlink {name} should be. Did you mean to use force?",
        {},
    )


def _clear_the_way(
    name: str, target: str, backupname: str | None, force: bool, atomic: bool, disallow_copy_and_unlink: bool
) -> str:
    """Move what stands in the way to ``backupname``. Return what is wrong, "" if the link may be made."""
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
    if filesystem.lexists(backupname):
        if not force:
            return f"Symlink & backup dest exists and Force not set. {name} -> {target} - backup: {backupname}"
        __salt__["file.remove"](backupname)
    try:
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
    """Make ``name`` another name of the file ``target``. A file in the way is replaced with ``force`` only.

    ``user``, ``group`` and ``dir_mode`` are those of the directories ``makedirs`` makes.
    """
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.hardlink")
    user, group = default_owner(owner_of(kwargs, user), group)
    relative = "" if os.path.isabs(target) else f"Specified target {target} is not an absolute path"
    problem = preflight(name, user, group, relative)
    if problem:
        return failed(ret, problem)
    name = plain(name)
    if is_dry_run():
        ret["result"], ret["comment"], ret["changes"] = _hardlink_verdict(name, target, force)
        return ret
    for direction, path in (("to", name), ("from", target)):
        if filesystem.is_directory(path):
            return failed(ret, f"Unable to hard link {direction} directory {path}")
    if not filesystem.exists(target):
        return failed(ret, f"Target {target} for hard link does not exist")
    parent = os.path.dirname(name)
    if not filesystem.is_directory(parent):
        if not makedirs:
            return failed(ret, f"Directory {parent} for hard link is not present")
        __salt__["file.makedirs"](name, user=user, group=group, mode=normalize_mode(dir_mode))
    return _make_hardlink(ret, name, target, force)


def _make_hardlink(ret: Row, name: str, target: str, force: bool) -> Row:
    exists = filesystem.lexists(name)
    relinks = exists and __salt__["file.is_hardlink"](name)
    if relinks and _same_file(name, target):
        ret["comment"] = f"Target of hard link {name} is already pointing to {target}"
        return ret
    if exists and not relinks:
        if not force:
            return failed(ret, f"File exists where the hard link {name} should be")
        ret["changes"]["forced"] = "File for hard link was forcibly replaced"
    try:
        if exists:
            filesystem.remove(name)
        __salt__["file.link"](target, name)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        action = "set target of" if relinks else "create new"
        return failed(ret, f"Unable to {action} hard link {name} -> {target}: {error}")
    ret["comment"] = (
        f"Set target of hard link {name} -> {target}" if relinks else f"Created new hard link {name} -> {target}"
    )
    ret["changes"]["new"] = name
    return ret


def _same_file(name: str, target: str) -> bool:
    one, other = filesystem.lstat(name), filesystem.lstat(target)
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _hardlink_verdict(name: str, target: str, force: bool) -> Verdict:
    """Return result, comment and changes of a dry run."""
    if not filesystem.exists(target):
        return False, f"Target {target} for hard link does not exist", {}
    if filesystem.is_directory(target):
        return False, f"Unable to hard link from directory {target}", {}
    if filesystem.is_directory(name):
        return False, f"Unable to hard link to directory {name}", {}
    if not filesystem.exists(name):
        return None, f"Hard link {name} to {target} is set for creation", {"new": name}
    if __salt__["file.is_hardlink"](name):
        if _same_file(name, target):
            return True, f"The hard link {name} is presently targetting {target}", {}
        return None, f"Link {name} target is set to be changed to {target}", {"change": name}
    if force:
        return (
            None,
            f"The file or directory {name} is set for removal to make way for a new hard link targeting {target}",
            {},
        )
    return (
        False,
        f"File or directory exists where the hard link {name} should be. Did you mean to use force?",
        {},
    )
