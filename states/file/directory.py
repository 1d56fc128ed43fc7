"""``file.directory``: a directory, its owner and mode, and those of what is in it."""

from __future__ import annotations

import os
import stat
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__, check_cancelled
from asyncstate.errors import CommandExecutionError, PathRefused

from .cleaning import clean_directory, required_files
from .patterns import is_included
from .rows import Row, expand, failed, is_dry_run, missing_accounts, new_row, normalize_mode, owner_of, plain

Listing = tuple[str, list[str], list[str]]

_RECURSE_TYPES = ("user", "group", "mode", "ignore_files", "ignore_dirs", "silent")


def directory(
    name: str,
    user: str | int | None = None,
    group: str | int | None = None,
    recurse: Any = None,
    max_depth: int | None = None,
    dir_mode: Any = None,
    file_mode: Any = None,
    makedirs: bool = False,
    clean: bool = False,
    require: Any = None,
    exclude_pat: Any = None,
    follow_symlinks: bool = False,
    force: bool = False,
    backupname: str | None = None,
    allow_symlink: bool = True,
    children_only: bool = False,
    win_owner: Any = None,
    win_perms: Any = None,
    win_deny_perms: Any = None,
    win_inheritance: bool = True,
    win_perms_reset: bool = False,
    **kwargs: Any,
) -> Row:
    """Make ``name`` a directory with this owner, group and mode (``mode`` is another name of ``dir_mode``).

    ``recurse`` (a list of user, group, mode, ignore_files, ignore_dirs, silent) extends that to what is in it,
    ``max_depth`` levels deep. ``clean`` removes what no required file state manages and ``exclude_pat`` does not match.
    ``force`` replaces a file or link in the way, ``backupname`` moves it there.
    """
    name = expand(name)
    ret = new_row(name)
    if not name:
        return failed(ret, "Must provide name to file.directory")
    name = plain(name)
    if max_depth is not None and clean:
        return failed(ret, "Cannot specify both max_depth and clean")
    user = owner_of(kwargs, user)
    dir_mode = normalize_mode(dir_mode or kwargs.get("mode"))
    file_mode = normalize_mode(file_mode) if file_mode else dir_mode
    problem = missing_accounts(user, group) if user or group else ""
    if problem:
        return failed(ret, problem)
    if not os.path.isabs(name):
        return failed(ret, f"Specified file {name} is not an absolute path")
    check = _Check(name, user, group, dir_mode, file_mode, follow_symlinks)
    try:
        if (filesystem.is_link(name) and (force or not allow_symlink)) or filesystem.is_file(name):
            finished = _clear_the_way(ret, name, backupname, force=force)
            if finished:
                return ret
        check.set_recursion(recurse)
        return _made(
            ret,
            check,
            clean,
            require,
            exclude_pat,
            max_depth=max_depth,
            makedirs=makedirs,
            children_only=children_only,
            recurse=recurse,
        )
    except (TypeError, ValueError, CommandExecutionError, OSError) as error:
        ret["changes"] = {}  # what was done is known to who calls us; here stands what was wanted
        return failed(ret, str(error))


def _made(
    ret: Row,
    check: _Check,
    clean: bool,
    require: Any,
    exclude_pat: Any,
    *,
    max_depth: int | None,
    makedirs: bool,
    children_only: bool,
    recurse: Any,
) -> Row:
    """Compare what is there with what is wanted and, unless it is a dry run, change it."""
    name = check.name
    listing = list(_walk(name, max_depth)) if recurse or clean else []
    expected = check.differences(listing, children_only=children_only)
    if clean:
        expected.update(_unkept(name, listing, require, exclude_pat))
    if not filesystem.is_directory(name):
        expected[name] = {"directory": "new"}
    ret["changes"].update(expected)
    if is_dry_run() or not ret["changes"]:
        ret["result"] = None if ret["changes"] else True
        ret["comment"] = _foretelling(expected) if expected else f"The directory {name} is in the correct state"
        return ret
    if not filesystem.is_directory(name):
        return _create(ret, name, check.user, check.group, check.dir_mode, makedirs=makedirs)
    return _settle(ret, check, listing, clean, require, exclude_pat, children_only=children_only, recurse=recurse)


def _clear_the_way(ret: Row, name: str, backupname: str | None, *, force: bool) -> bool:
    """Remove or rename the file or link in the way. True if that already decides the row."""
    dry_run = is_dry_run()
    kind = "Symlink" if filesystem.is_link(name) else "File"
    if backupname is not None:
        backupname = plain(backupname)
        if not os.path.isabs(backupname):
            failed(ret, f"Backupname must be an absolute path: {backupname}")
            return True
        if filesystem.lexists(backupname):
            if not force:
                failed(ret, f"File exists where the backup target {backupname} should go")
                return True
            if dry_run:
                ret["changes"]["forced"] = f"Existing file at backup path {backupname} would be removed"
            else:
                __salt__["file.remove"](backupname)
        if dry_run:
            ret["changes"]["backup"] = f"{name} would be renamed to {backupname}"
            ret["changes"][name] = {"directory": "new"}
            ret["comment"] = f"{name} would be backed up and replaced with a new directory"
            ret["result"] = None
            return True
        filesystem.rename(name, backupname)
        return False
    if not force:
        kind = "file" if _leads_to_file(name) else "symlink"
        failed(ret, f"Specified location {name} exists and is a {kind}")
        return True
    if _leads_to_file(name):
        kind = "File"
    if dry_run:
        ret["changes"]["forced"] = f"{kind} would be forcibly replaced"
    else:
        __salt__["file.remove"](name)
        ret["changes"]["forced"] = f"{kind} was forcibly replaced"
    return False


def _leads_to_file(name: str) -> bool:
    """Tell whether a file or a link to one is in the way; where a user's own link leads is not looked at."""
    try:
        return filesystem.is_file(name)
    except PathRefused:
        return False


def _foretelling(changes: Row) -> str:
    lines = [f"{path}: {key} - {value}\n" for path, change in changes.items() for key, value in change.items()]
    return "The following files will be changed:\n" + "".join(lines)


def _walk(top: str, max_depth: int | None) -> list[Listing]:
    """Return the directories below ``top``, at most ``max_depth`` levels, itself included."""
    listing = []
    base = top.rstrip("/").count("/")
    for root, dirs, files in filesystem.walk(top):
        if max_depth is not None and root.rstrip("/").count("/") - base >= max_depth:
            dirs.clear()
            continue
        check_cancelled()
        listing.append((root, list(dirs), list(files)))
    return listing


def recursion(recurse: Any) -> set[str]:
    """Return what ``recurse`` extends to. TypeError or ValueError say what is wrong with it."""
    if not recurse:
        return set()
    if not isinstance(recurse, list):
        raise TypeError('"recurse" must be formed as a list of strings')
    wanted = {item for item in recurse if isinstance(item, str)}
    if len(wanted) < len(recurse) or not wanted <= set(_RECURSE_TYPES):
        known = ", ".join(f'"{kind}"' for kind in _RECURSE_TYPES)
        raise ValueError(f'Types for "recurse" limited to {known}.')
    if {"ignore_files", "ignore_dirs"} <= wanted:
        raise ValueError('Must not specify "recurse" options "ignore_files" and "ignore_dirs" at the same time.')
    return wanted


class _Check:
    """What owner and modes a directory and its content are to have, and where they differ."""

    def __init__(
        self, name: str, user: Any, group: Any, dir_mode: str | None, file_mode: str | None, follow_symlinks: bool
    ) -> None:
        self.name = name
        self.user = user
        self.group = group
        self.dir_mode = dir_mode
        self.file_mode = file_mode
        self.follow_symlinks = follow_symlinks
        self.recursion: set[str] = set()
        self.uid = __salt__["file.user_to_uid"](user) if user is not None else None
        self.gid = __salt__["file.group_to_gid"](group) if group is not None else None

    def set_recursion(self, recurse: Any) -> None:
        self.recursion = recursion(recurse)

    def differences(self, listing: list[Listing], *, children_only: bool) -> Row:
        """Return ``{path: {what: wanted}}`` for all that is to be changed."""
        changes: Row = {}
        if self.recursion:
            for root, dirs, files in listing:
                if "ignore_files" not in self.recursion:
                    self._compare(changes, root, files, self._inherited(self.file_mode))
                if "ignore_dirs" not in self.recursion:
                    self._compare(changes, root, dirs, self._inherited(self.dir_mode))
        if not children_only:
            difference = self._difference(self.name, self.user, self.group, self.dir_mode)
            if difference:
                changes[self.name] = difference
        return changes

    def _inherited(self, mode: str | None) -> tuple[Any, Any, str | None]:
        """Return owner, group and mode for what is in the directory."""
        return (
            self.user if "user" in self.recursion else None,
            self.group if "group" in self.recursion else None,
            mode if "mode" in self.recursion else None,
        )

    def _compare(self, changes: Row, root: str, names: list[str], wanted: tuple[Any, Any, str | None]) -> None:
        for name in names:
            path = os.path.join(root, name)
            difference = self._difference(path, *wanted)
            if difference:
                changes[path] = difference

    def _difference(self, path: str, user: Any, group: Any, mode: str | None) -> Row:
        try:
            found = filesystem.lstat(path)
            if self.follow_symlinks and stat.S_ISLNK(found.st_mode):
                found = _followed(path, found)
        except (FileNotFoundError, NotADirectoryError):
            return {"directory": "new"}
        changes: Row = {}
        if user is not None and self.uid != found.st_uid:
            changes["user"] = user
        if group is not None and self.gid != found.st_gid:
            changes["group"] = group
        if mode is not None and mode != f"{stat.S_IMODE(found.st_mode):04o}" and not stat.S_ISLNK(found.st_mode):
            changes["mode"] = mode
        return changes

    def enforce(self, ret: Row, listing: list[Listing]) -> tuple[Row, list[str]]:
        """Set what differs in the directory's content; return the row and what could not be done."""
        errors: list[str] = []
        for root, dirs, files in listing:
            wanted = []
            if "ignore_files" not in self.recursion:
                wanted += [(name, self._inherited(self.file_mode)) for name in files]
            if "ignore_dirs" not in self.recursion:
                wanted += [(name, self._inherited(self.dir_mode)) for name in dirs]
            for name, (user, group, mode) in wanted:
                path = os.path.join(root, name)
                if not filesystem.lexists(path) or not self._difference(path, user, group, mode):
                    continue
                check_cancelled()
                try:
                    ret, _ = __salt__["file.check_perms"](path, ret, user, group, mode, None, self.follow_symlinks)
                except (CommandExecutionError, PathRefused, OSError) as error:
                    errors.append(str(error))
                    ret["changes"].pop(path, None)
        return ret, errors


def _followed(path: str, link: os.stat_result) -> os.stat_result:
    """Return what a link leads to, else the link: one that leads nowhere, or that is not to be followed."""
    try:
        return filesystem.stat(path)
    except (PathRefused, OSError):
        return link


def _unkept(name: str, listing: list[Listing], require: Any, exclude_pat: Any) -> Row:
    """Return what ``clean`` is to remove."""
    keep = required_files(name, require)
    changes: Row = {}
    for root, dirs, files in listing:
        for entry in [*files, *dirs]:
            path = os.path.join(root, entry)
            if any(path in kept for kept in keep) or not is_included(os.path.relpath(path, name), None, exclude_pat):
                continue
            changes[path] = {"removed": "Removed due to clean"}
    return changes


def _forget_unremoved(changes: Row, removed: list[str]) -> None:
    """Take out of the changes foretold what ``clean`` did not come to."""
    gone = tuple(f"{path}/" for path in removed)
    for path in [path for path, change in changes.items() if isinstance(change, dict) and "removed" in change]:
        if not f"{path}/".startswith(gone):
            del changes[path]


def _create(ret: Row, name: str, user: Any, group: Any, dir_mode: str | None, *, makedirs: bool) -> Row:
    if not filesystem.is_directory(os.path.dirname(name)):
        if not makedirs:
            return failed(ret, f"No directory to create {name} in")
        __salt__["file.makedirs"](path=name, user=user, group=group, mode=dir_mode)
    __salt__["file.mkdir"](name, user=user, group=group, mode=dir_mode)
    if not filesystem.is_directory(name):
        return failed(ret, f"Failed to create directory {name}")
    ret["changes"][name] = {"directory": "new"}
    return ret


def _settle(
    ret: Row,
    check: _Check,
    listing: list[Listing],
    clean: bool,
    require: Any,
    exclude_pat: Any,
    *,
    children_only: bool,
    recurse: Any,
) -> Row:
    """Set owner and mode of an existing directory and its content, clean it, and say what was done."""
    name = check.name
    errors: list[str] = []
    if not children_only:
        ret, _ = __salt__["file.check_perms"](
            name, ret, check.user, check.group, check.dir_mode, None, check.follow_symlinks
        )
    for kind, value, text in (
        ("user", check.user, "user not specified, but configured as a target for recursive ownership management"),
        ("group", check.group, "group not specified, but configured as a target for recursive ownership management"),
    ):
        if kind in check.recursion and not value and not isinstance(value, int):
            failed(ret, text)
    if check.recursion:
        if "silent" in check.recursion:
            ret["changes"] = {"recursion": "Changes silenced"}
        ret, errors = check.enforce(ret, listing)
    if clean:
        removed, stopped = clean_directory(name, required_files(name, require), exclude_pat)
        if stopped:
            errors.append(stopped)
            _forget_unremoved(ret["changes"], removed)
        if removed:
            ret["changes"]["removed"] = removed
            ret["comment"] = f"Files cleaned from directory {name}"
    if not ret["comment"] and (children_only or ret["changes"]):
        ret["comment"] = f"Directory {name}/* updated" if children_only else f"Directory {name} updated"
    if not ret["changes"] and ret["result"]:
        ret["comment"] = "\n".join(
            part for part in (f"Directory {name} is in the correct state", ret["comment"]) if part
        )
    if errors:
        listed = "".join(f"\n- {error}" for error in errors)
        failed(ret, f"{ret['comment']}\n\nThe following errors were encountered:\n{listed}")
    return ret
