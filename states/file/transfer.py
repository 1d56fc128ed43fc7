"""Single files and paths: touch, copy, rename, absent, exists, missing."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError
from asyncstate.filesystem.replacement import note_renamed

from .._paths import plain  # noqa: TID252 - as `states` for type checkers
from .arguments import (
    default_owner,
    expand,
    impossible_mode,
    impossible_times,
    missing_accounts,
    misspelt,
    normalize_mode,
    owner_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def absent(name: str, **kwargs: Any) -> Row:
    """Make sure there is no file, link or directory ``name``."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.absent")
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    if os.path.normpath(name) in {"/", "//"}:
        return failed(name, 'Refusing to make "/" absent')
    if not filesystem.lexists(name):
        return unchanged(name, f"File {name} is not present")
    path = plain(name)
    kind = "directory" if filesystem.is_plain_directory(path) else "file"
    try:
        if filesystem.foretells():
            filesystem.require_removable(path)
        if is_dry_run():
            return would_change(name, f"{kind.title()} {name} is set for removal", {"removed": name})
        __salt__["file.remove"](path, force=True)
    except OSError as error:
        return failed(name, f"Could not remove '{path}': {error}")
    except CommandExecutionError as error:
        return failed(name, str(error))
    return changed(name, f"Removed {kind} {name}", {"removed": name})


def exists(name: str, **kwargs: Any) -> Row:
    """Fail unless there is something at ``name``; nothing is changed."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.exists")
    if not filesystem.exists(name):
        return failed(name, f"Specified path {name} does not exist")
    return unchanged(name, f"Path {name} exists")


def missing(name: str, **kwargs: Any) -> Row:
    """Fail if there is something at ``name``; nothing is changed."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.missing")
    if filesystem.exists(name):
        return failed(name, f"Specified path {name} exists")
    return unchanged(name, f"Path {name} is missing")


def touch(name: str, atime: float | None = None, mtime: float | None = None, makedirs: bool = False) -> Row:
    """Make an empty file if there is none; set its times, to now unless given. It changes every time, as in Salt."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.touch")
    problem = misspelt(name) or (impossible_times(atime, mtime) if filesystem.judges() else "")
    if problem:
        return failed(name, problem)
    extant = filesystem.exists(name)
    try:
        make = partial(__salt__["file.makedirs"], name) if makedirs else None
        if not extant and not filesystem.room_for(name, make, follow=True):
            return failed(name, f"Directory not present to touch file {name}")
        if is_dry_run():
            return _would_touch(name, atime, mtime, extant=extant)
        if not __salt__["file.touch"](name, atime, mtime):
            return failed(name, "")
    except (CommandExecutionError, OSError) as error:
        return failed(name, str(error))
    if not extant:
        return changed(name, f"Created empty file {name}", {"new": name})
    kind = "directory" if filesystem.is_directory(name) else "file"
    return changed(name, f"Updated times on {kind} {name}", {"touched": name})


def _would_touch(name: str, atime: Any, mtime: Any, *, extant: bool) -> Row:
    if not extant:
        return would_change(name, f"File {name} is set to be created", {"new": name})
    filesystem.require_changeable(name, only_times=atime is None and mtime is None)
    found = filesystem.lstat(name)
    if (
        filesystem.foretells()  # a run sets the times even if they are equal
        or (atime is not None and str(atime) != str(found.st_atime))
        or (mtime is not None and str(mtime) != str(found.st_mtime))
    ):
        return would_change(name, f"Times set to be updated on file {name}", {"touched": name})
    return changed(name, f"File {name} exists and has the correct times", {"new": name})


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
    """Copy a local file or directory once: what exists at ``name`` stays, unless ``force``.

    ``preserve`` keeps owner, group and mode of ``source``, otherwise only the mode. ``subdir`` copies into a directory
    ``name``.
    """
    name, source = expand(name), expand(source)
    if not name:
        return failed(name, "Must provide name to file.copy")
    problem = misspelt(name)
    if problem:
        return failed(name, problem)
    path = plain(name)
    if not filesystem.exists(source):
        return failed(name, f'Source file "{source}" is not present')
    if preserve:
        user, group, mode = (__salt__[f"file.get_{what}"](source) for what in ("user", "group", "mode"))
    else:
        user, group = default_owner(owner_of(kwargs, user), group)
        mode = normalize_mode(mode) or _mode_of(source)
        problem = missing_accounts(user, group) or impossible_mode(mode)
        if problem:
            return failed(name, problem)
    if filesystem.is_directory(path) and subdir:
        path = os.path.join(path, os.path.basename(source))
    occupied = filesystem.lexists(path)
    if occupied and not force:
        return unchanged(name, f'The target file "{path}" exists and will not be overwritten')
    if occupied and _holds(path, source):
        return failed(name, f'Source file "{source}" would be lost with what is at "{path}" now')
    comment = f'Copied "{source}" to "{name}"'
    if occupied and filesystem.is_file(path) and filesystem.is_file(source) and _same_content(path, source):
        comment += " - files are identical but force flag is set"
    filesystem.require_readable(source)
    goes_first = occupied and _is_moved_into_itself(source, path)  # it is a part of the source that is not to be copied
    if filesystem.is_directory(source) and (goes_first or is_dry_run()):
        try:
            filesystem.require_copyable(source)
        except OSError:
            return failed(name, f'Failed to copy "{source}" to "{path}"')

    def make() -> Any:
        folders_mode = dir_mode or _directory_mode(mode)
        return __salt__["file.makedirs"](path, user=user, group=group, mode=folders_mode)

    problem = _unfit(path, make if makedirs else None)
    if problem:
        return failed(name, problem)
    if is_dry_run():
        if occupied and not _can_be_removed(path):
            return _undeleted(name, path)
        if not preserve and (problem := _unowned(source, path, user, group, comment)):
            return failed(name, problem)
        return would_change(name, f'File "{source}" is set to be copied to "{path}"')

    def copy(where: str) -> Row:
        return _copied(name, source, path, where, user, group, mode, comment, preserve=preserve)

    if goes_first and not _removed(path):
        return _undeleted(name, path)
    return _replaced(name, path, copy) if occupied and not goes_first else copy(path)


def _replaced(name: str, path: str, make: Callable[[str], Row]) -> Row:
    """Return the row of ``make``, which makes a new entry at the path that it gets, and put that in place of ``path``.

    The new entry is whole before the old one goes. A directory is no target of a rename, so it is removed just before.
    """
    where = os.path.join(os.path.dirname(path), residue.name_beside(os.path.basename(path)))
    residue.note_temporary(os.path.abspath(where))
    try:
        row = make(where)
        if row["result"] is False:
            return failed(name, str(row["comment"]).replace(where, path))
        has_folder = filesystem.is_plain_directory(path) or filesystem.is_plain_directory(where)
        if has_folder and not _removed(path):
            return _undeleted(name, path)
        filesystem.rename(where, path)
        note_renamed(where, path)
        return row
    except OSError as error:
        return failed(name, str(error).replace(where, path))
    finally:
        if filesystem.lexists(where):
            _removed(where)


def _replaces(source: str, path: str) -> bool:
    """Return whether a move replaces ``path`` in one step: a file by another file, and not by its own hard link."""
    for each in (source, path):
        if filesystem.is_link(each) or not filesystem.is_file(each):
            return False
    return not filesystem.same_file(source, path)


def _is_on_another_file_system(source: str, path: str) -> bool:
    folder = os.path.dirname(path)
    while not filesystem.lexists(folder):  # a dry run makes none
        folder = os.path.dirname(folder)
    return filesystem.lstat(source).st_dev != filesystem.stat(folder).st_dev


def _undeleted(name: str, path: str) -> Row:
    return failed(name, f'Failed to delete "{path}" in preparation for forced move')


def _unfit(path: str, make: Callable[[], object] | None) -> str:
    """Let ``make`` make the folder of ``path``; return the error, "" if a file may now be put there."""
    try:
        if not filesystem.room_for(path, make):
            return f"The target directory {os.path.dirname(path)} is not present"
    except OSError as error:
        return str(error)
    return ""


def _unowned(source: str, path: str, user: Any, group: Any, comment: str) -> str:
    """Return the error of a run that cannot set the owner of the copy, "" if it can; for dry runs."""
    uid, gid = (
        -1 if account == "" else __salt__[look_up](account)
        for look_up, account in (("file.user_to_uid", user), ("file.group_to_gid", group))
    )
    refused = filesystem.refused_owners(uid, gid)
    if refused and filesystem.is_directory(source) and filesystem.listdir(source):
        return f'Failed to copy "{source}" to "{path}"'
    wanted = {"user": user, "group": group}
    return "; ".join([comment, *(f"Failed to change {kind} to {wanted[kind]}" for kind in refused)]) if refused else ""


def _copied(
    name: str, source: str, path: str, where: str, user: Any, group: Any, mode: Any, comment: str, *, preserve: bool
) -> Row:
    """Copy ``source`` to ``where``, and return the row of a copy at ``path``."""
    changes: dict[str, Any] = {}
    try:
        if filesystem.is_directory(source):
            filesystem.copy_tree(source, where)
            for root, dirs, files in filesystem.walk(where):
                for entry in [*dirs, *files]:
                    __salt__["file.lchown"](os.path.join(root, entry), user, group)
        elif preserve:
            __salt__["file.copy"](source, where)
        else:
            placed = __salt__["file.manage_file"](
                where, source, None, None, {}, user, group, mode, None, str(__env__), ""
            )
            if not placed["result"]:
                if not filesystem.lexists(where):
                    return failed(name, placed["comment"])
                return failed(name, f"{comment}; {placed['comment']}", {path: source})
            mode_of_copy = __salt__["file.get_mode"](source)
            changes.update({key: value for key, value in placed["changes"].items() if key in {"user", "group"}})
            if mode != mode_of_copy:
                changes["mode"] = mode
        changes[path] = source
        if filesystem.is_directory(source) and not preserve:
            checked, _ = __salt__["file.check_perms"](where, None, user, group, mode)
            changes.update(checked["changes"])
            if not checked["result"]:
                return failed(name, "; ".join([comment, checked["comment"]]), changes)
    except (CommandExecutionError, OSError):
        return failed(name, f'Failed to copy "{source}" to "{path}"', changes)
    return changed(name, comment, changes)


def _mode_of(source: str) -> str:
    """Return the mode of a copy: without set-id bits if the copy has another owner than the file."""
    mode = str(__salt__["file.get_mode"](source))
    if filesystem.stat(source).st_uid in (0, os.geteuid()):
        return mode
    return f"{int(mode, 8) & ~0o6000:04o}"


def _same_content(one: str, other: str) -> bool:
    return bool(__salt__["file.get_hash"](one) == __salt__["file.get_hash"](other))


def _directory_mode(mode: Any) -> str | None:
    """Return the mode of directories made for a file of ``mode``: each class with any permission may also enter."""
    if mode is None:
        return None
    return "".join(digit if digit == "0" else str(int(digit) | 1) for digit in str(mode)[-3:])


def _holds(name: str, source: str) -> bool:
    """Return whether removing ``name`` would also remove ``source``, or the way to it."""
    if filesystem.is_link(name):
        return _is_within(plain(source), name)
    return _is_within(os.path.realpath(source), os.path.realpath(name))


def _is_moved_into_itself(source: str, path: str) -> bool:
    """Return whether ``path`` lies in the directory ``source``. If its last part is a link, the link goes before."""
    folder, name = os.path.split(path)
    return not filesystem.is_link(source) and _is_within(
        os.path.join(os.path.realpath(folder), name), os.path.realpath(source)
    )


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}/")


def _can_be_removed(path: str, *, content: bool = True) -> bool:
    """Return False in a dry run with forecasts whose run could not remove ``path``; without ``content``, rename it."""
    try:
        if filesystem.foretells():
            filesystem.require_removable(path, content=content)
    except OSError:
        return False
    return True


def _removed(name: str) -> bool:
    try:
        __salt__["file.remove"](name, force=True)
    except (CommandExecutionError, OSError):
        return False
    return True


def rename(name: str, source: str, force: bool = False, makedirs: bool = False, **kwargs: Any) -> Row:
    """Move ``source`` to ``name`` if it is still there. What exists at ``name`` is replaced with ``force`` only."""
    name, source = (os.path.expandvars(expand(path)) for path in (name, source))
    if not name:
        return failed(name, "Must provide name to file.rename")
    problem = misspelt(name)
    if problem:
        return failed(name, problem)
    path = plain(name)
    if not filesystem.lexists(source):
        return unchanged(name, f'Source file "{source}" has already been moved out of place')
    source = plain(source)
    occupied = filesystem.lexists(path)
    if occupied and not force:
        return unchanged(name, f'The target file "{path}" exists and will not be overwritten')
    if occupied and _holds(path, source):
        return failed(name, f'Source file "{source}" would be lost with what is at "{path}" now')
    problem = _unfit(path, partial(__salt__["file.makedirs"], path) if makedirs else None)
    if problem:
        return failed(name, problem)
    if filesystem.foretells() and _is_moved_into_itself(source, path):
        return failed(name, f'Failed to move "{source}" to "{path}"')
    looks = occupied or filesystem.foretells()
    if looks and filesystem.is_plain_directory(source) and _is_on_another_file_system(source, path):
        try:
            filesystem.require_removable(source)
            filesystem.require_copyable(source)
        except OSError:
            return failed(name, f'Failed to move "{source}" to "{path}"')
    if is_dry_run():
        if not _can_be_removed(source, content=False):
            return failed(name, f'Failed to move "{source}" to "{path}"')
        if occupied and not _can_be_removed(path):
            return _undeleted(name, path)
        return would_change(name, f'File "{source}" is set to be moved to "{path}"')

    if occupied and not _replaces(source, path) and not _removed(path):
        return _undeleted(name, path)
    try:
        __salt__["file.move"](source, path)
    except (CommandExecutionError, OSError) as error:
        left = "" if filesystem.lexists(source) else f": {error}"  # what could not be removed has another name
        return failed(name, f'Failed to move "{source}" to "{path}"{left}')
    return changed(name, f'Moved "{source}" to "{path}"', {path: source})
