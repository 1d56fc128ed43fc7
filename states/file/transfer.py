"""Single files and paths: touch, copy, rename, absent, exists, missing."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __env__, __salt__
from asyncstate.errors import CommandExecutionError

from .rows import (
    Row,
    default_owner,
    expand,
    failed,
    is_dry_run,
    missing_accounts,
    misspelt,
    new_row,
    normalize_mode,
    owner_of,
    plain,
)


def absent(name: str, **kwargs: Any) -> Row:
    """Make sure there is no file, link or directory ``name``."""
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.absent")
    if not os.path.isabs(name):
        return failed(ret, f"Specified file {name} is not an absolute path")
    if os.path.normpath(name) in {"/", "//"}:
        return failed(ret, 'Refusing to make "/" absent')
    if not filesystem.lexists(name):
        ret["comment"] = f"File {name} is not present"
        return ret
    name = plain(name)
    kind = "directory" if filesystem.is_plain_directory(name) else "file"
    if is_dry_run():
        ret["result"] = None
        ret["comment"] = f"{kind.title()} {name} is set for removal"
    else:
        try:
            __salt__["file.remove"](name, force=True)
        except CommandExecutionError as error:
            return failed(ret, str(error))
        ret["comment"] = f"Removed {kind} {name}"
    ret["changes"]["removed"] = ret["name"]
    return ret


def exists(name: str, **kwargs: Any) -> Row:
    """Fail unless there is something at ``name``; nothing is changed."""
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.exists")
    if not filesystem.exists(name):
        return failed(ret, f"Specified path {name} does not exist")
    ret["comment"] = f"Path {name} exists"
    return ret


def missing(name: str, **kwargs: Any) -> Row:
    """Fail if there is something at ``name``; nothing is changed."""
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.missing")
    if filesystem.exists(name):
        return failed(ret, f"Specified path {name} exists")
    ret["comment"] = f"Path {name} is missing"
    return ret


def touch(name: str, atime: Any = None, mtime: Any = None, makedirs: bool = False) -> Row:
    """Make an empty file if there is none; set its times, to now unless given. A change every time, as in Salt."""
    name = expand(name)
    ret: Row = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not name:
        return failed(ret, "Must provide name to file.touch")
    problem = misspelt(name)
    if problem:
        return failed(ret, problem)
    extant = filesystem.exists(name)
    if is_dry_run():
        return _foretold_touch(ret, name, atime, mtime, extant=extant)
    if makedirs:
        __salt__["file.makedirs"](path=name)
    if not filesystem.is_directory(os.path.dirname(name)):
        return failed(ret, f"Directory not present to touch file {name}")
    ret["result"] = __salt__["file.touch"](name, atime, mtime)
    if not extant and ret["result"]:
        ret["comment"] = f"Created empty file {name}"
        ret["changes"]["new"] = name
    elif ret["result"]:
        ret["comment"] = f"Updated times on {'directory' if filesystem.is_directory(name) else 'file'} {name}"
        ret["changes"]["touched"] = name
    return ret


def _foretold_touch(ret: Row, name: str, atime: Any, mtime: Any, *, extant: bool) -> Row:
    ret["result"] = None
    if not extant:
        ret["comment"] = f"File {name} is set to be created"
        ret["changes"] = {"new": name}
        return ret
    filesystem.require_changeable(name)
    found = filesystem.lstat(name)
    if (atime is not None and str(atime) != str(found.st_atime)) or (
        mtime is not None and str(mtime) != str(found.st_mtime)
    ):
        ret["comment"] = f"Times set to be updated on file {name}"
        ret["changes"] = {"touched": name}
    else:
        ret["result"] = True
        ret["comment"] = f"File {name} exists and has the correct times"
        ret["changes"] = {"new": name}
    return ret


def copy_(
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    preserve: bool = False,
    user: str | int | None = None,
    group: str | int | None = None,
    mode: Any = None,
    dir_mode: Any = None,
    subdir: bool = False,
    **kwargs: Any,
) -> Row:
    """Copy a local file or directory, once: what is there stays unless ``force``.

    ``preserve`` keeps owner, group and mode of ``source``, else the mode only. ``subdir`` copies into a directory
    ``name``.
    """
    name, source = expand(name), expand(source)
    ret = new_row(name)
    ret["comment"] = f'Copied "{source}" to "{name}"'
    if not name:
        return failed(ret, "Must provide name to file.copy")
    problem = misspelt(name)
    if problem:
        return failed(ret, problem)
    name = plain(name)
    if not filesystem.exists(source):
        return failed(ret, f'Source file "{source}" is not present')
    if preserve:
        user, group, mode = (__salt__[f"file.get_{what}"](source) for what in ("user", "group", "mode"))
    else:
        user, group = default_owner(owner_of(kwargs, user), group)
        problem = missing_accounts(user, group)
        if problem:
            return failed(ret, problem)
        mode = normalize_mode(mode) or _mode_of(source)
    if filesystem.is_directory(name) and subdir:
        name = os.path.join(name, os.path.basename(source))
    occupied = filesystem.lexists(name)
    if occupied and not force:
        ret["comment"] = f'The target file "{name}" exists and will not be overwritten'
        return ret
    if occupied and _holds(name, source):
        return failed(ret, f'Source file "{source}" would be lost with what is at "{name}" now')
    if occupied and filesystem.is_file(name) and filesystem.is_file(source) and _same_content(name, source):
        ret["comment"] += " - files are identical but force flag is set"
    filesystem.require_readable(source)
    if is_dry_run():
        ret["comment"] = f'File "{source}" is set to be copied to "{name}"'
        ret["result"] = None
        return ret
    if occupied and not _removed(name):
        return failed(ret, f'Failed to delete "{name}" in preparation for forced move')
    parent = os.path.dirname(name)
    if not filesystem.is_directory(parent):
        if not makedirs:
            return failed(ret, f"The target directory {parent} is not present")
        __salt__["file.makedirs"](name, user=user, group=group, mode=dir_mode or _directory_mode(mode))
    return _copied(ret, source, name, user, group, mode, preserve=preserve)


def _copied(ret: Row, source: str, name: str, user: Any, group: Any, mode: Any, *, preserve: bool) -> Row:
    try:
        if filesystem.is_directory(source):
            filesystem.copy_tree(source, name)
            for root, dirs, files in filesystem.walk(name):
                for entry in [*dirs, *files]:
                    __salt__["file.lchown"](os.path.join(root, entry), user, group)
        elif preserve:
            __salt__["file.copy"](source, name)
        else:
            placed = __salt__["file.manage_file"](
                name, source, None, None, {}, user, group, mode, None, str(__env__), ""
            )
            if not placed["result"]:
                if not filesystem.lexists(name):
                    return failed(ret, placed["comment"])
                ret["changes"][name] = source
                return failed(ret, f"{ret['comment']}; {placed['comment']}")
            mode_of_copy = __salt__["file.get_mode"](source)
            ret["changes"].update({key: value for key, value in placed["changes"].items() if key in {"user", "group"}})
            if mode != mode_of_copy:
                ret["changes"]["mode"] = mode
        ret["changes"][name] = source
        if filesystem.is_directory(source) and not preserve:
            checked, _ = __salt__["file.check_perms"](name, None, user, group, mode)
            ret["changes"].update(checked["changes"])
            if not checked["result"]:
                return failed(ret, "; ".join([ret["comment"], checked["comment"]]))
    except (CommandExecutionError, OSError):
        return failed(ret, f'Failed to copy "{source}" to "{name}"')
    return ret


def _mode_of(source: str) -> str:
    """Return the mode a copy gets: without the set-id bits of another user's file, which now has another owner."""
    mode = str(__salt__["file.get_mode"](source))
    if filesystem.stat(source).st_uid in (0, os.geteuid()):
        return mode
    return f"{int(mode, 8) & ~0o6000:04o}"


def _same_content(one: str, other: str) -> bool:
    return bool(__salt__["file.get_hash"](one) == __salt__["file.get_hash"](other))


def _directory_mode(mode: Any) -> str | None:
    """Return the mode of directories made for a file of ``mode``: who may do anything may also enter."""
    if mode is None:
        return None
    return "".join(digit if digit == "0" else str(int(digit) | 1) for digit in str(mode)[-3:])


def _holds(name: str, source: str) -> bool:
    """Tell whether to remove ``name`` would be to remove ``source``."""
    if filesystem.is_link(name):
        return False
    inner, outer = os.path.realpath(source), os.path.realpath(name)
    return inner == outer or inner.startswith(f"{outer}/")


def _removed(name: str) -> bool:
    try:
        __salt__["file.remove"](name, force=True)
    except (CommandExecutionError, OSError):
        return False
    return True


def rename(name: str, source: str, force: bool = False, makedirs: bool = False, **kwargs: Any) -> Row:
    """Move ``source`` to ``name`` if it is still there. What stands at ``name`` is replaced with ``force`` only."""
    name, source = (os.path.expandvars(expand(path)) for path in (name, source))
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.rename")
    problem = misspelt(name)
    if problem:
        return failed(ret, problem)
    name = plain(name)
    if not filesystem.lexists(source):
        ret["comment"] = f'Source file "{source}" has already been moved out of place'
        return ret
    source = plain(source)
    occupied = filesystem.lexists(name)
    if occupied and not force:
        ret["comment"] = f'The target file "{name}" exists and will not be overwritten'
        return ret
    if occupied and _holds(name, source):
        return failed(ret, f'Source file "{source}" would be lost with what is at "{name}" now')
    if is_dry_run():
        ret["comment"] = f'File "{source}" is set to be moved to "{name}"'
        ret["result"] = None
        return ret
    if occupied and not _removed(name):
        return failed(ret, f'Failed to delete "{name}" in preparation for forced move')
    parent = os.path.dirname(name)
    if not filesystem.is_directory(parent):
        if not makedirs:
            return failed(ret, f"The target directory {parent} is not present")
        __salt__["file.makedirs"](path=name)
    try:
        __salt__["file.move"](source, name)
    except (CommandExecutionError, OSError):
        return failed(ret, f'Failed to move "{source}" to "{name}"')
    ret["comment"] = f'Moved "{source}" to "{name}"'
    ret["changes"] = {name: source}
    return ret
