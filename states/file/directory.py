"""``file.directory``: a directory, with owner and mode for it and its content."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.data.patterns import is_included, refused_patterns
from asyncstate.dunders import Row, __salt__, changed, check_cancelled, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError, PathRefused

from .._paths import plain  # noqa: TID252 - as `states` for type checkers
from .arguments import expand, impossible_mode, missing_accounts, normalize_mode, owner_of, unfit_backup
from .cleaning import clean_directory, required_files, unremovable

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

    ``recurse`` (a list of user, group, mode, ignore_files, ignore_dirs, silent) extends that to its content,
    ``max_depth`` levels deep. ``clean`` removes what no required file state manages and ``exclude_pat`` does not match.
    If ``name`` is a file or link, ``force`` replaces it, and ``backupname`` is the path it is moved to.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.directory")
    path = plain(name)
    if max_depth is not None and clean:
        return failed(name, "Cannot specify both max_depth and clean")
    user = owner_of(kwargs, user)
    dir_mode = normalize_mode(dir_mode or kwargs.get("mode"))
    file_mode = normalize_mode(file_mode) if file_mode else dir_mode
    problem = missing_accounts(user, group) if user or group else ""
    of_files = file_mode if isinstance(recurse, list) and "mode" in recurse else None
    if problem := problem or impossible_mode(dir_mode) or impossible_mode(of_files):
        return failed(name, problem)
    if not os.path.isabs(path):
        return failed(name, f"Specified file {path} is not an absolute path")
    if clean and filesystem.judges() and (problem := refused_patterns(exclude_pat)):
        return failed(name, problem)
    check = _Check(path, user, group, dir_mode, file_mode, follow_symlinks)
    changes: dict[str, Any] = {}
    try:
        if (filesystem.is_link(path) and (force or not allow_symlink)) or filesystem.is_file(path):
            if force or backupname:  # a wrong recursion removes nothing
                check.set_recursion(recurse)
            row = _clear_the_way(name, path, backupname, changes, force=force)
            if row is not None:
                problem = check.refusal(new=True) if row["result"] is None else ""
                return failed(name, problem) if problem else row
        check.set_recursion(recurse)
        return _made(
            name,
            check,
            changes,
            clean,
            require,
            exclude_pat,
            max_depth=max_depth,
            makedirs=makedirs,
            children_only=children_only,
            recurse=recurse,
        )
    except (TypeError, ValueError, CommandExecutionError, OSError) as error:
        return failed(name, str(error))  # without changes, which the caller knows


def _made(
    name: str,
    check: _Check,
    changes: dict[str, Any],
    clean: bool,
    require: Any,
    exclude_pat: Any,
    *,
    max_depth: int | None,
    makedirs: bool,
    children_only: bool,
    recurse: Any,
) -> Row:
    """Compare the existing directory with the wanted one and, except in a dry run, change it."""
    path = check.name
    listing = list(_walk(path, max_depth)) if recurse or clean else []
    expected = check.differences(listing, children_only=children_only)
    if clean:
        expected.update(_unkept(path, listing, require, exclude_pat))
    owners = {"user": check.user, "group": check.group, "mode": check.dir_mode}
    is_new = not filesystem.is_directory(path)
    if is_new:
        if filesystem.foretells() and filesystem.lexists(path) and "forced" not in changes:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        expected[path] = {"directory": "new"}
    changes.update(expected)
    if is_new and not filesystem.room_for(
        path, partial(__salt__["file.makedirs"], path, **owners) if makedirs else None
    ):
        return failed(name, f"No directory to create {path} in", {} if is_dry_run() else changes)
    if problem := check.refusal(new=is_new or "forced" in changes):
        return failed(name, problem)
    if changes and not is_new and filesystem.foretells() and (problem := _unnamed_owner(check)):
        return failed(name, problem)
    if filesystem.foretells() and (problem := _unfit(expected)):
        return failed(name, problem)
    if is_dry_run() or not changes:
        comment = _announcement(expected) if expected else f"The directory {path} is in the correct state"
        return would_change(name, comment, changes) if changes else unchanged(name, comment)
    if is_new:
        __salt__["file.mkdir"](path, **owners)
        return _created(name, check, changes)
    return _settle(
        name, check, changes, listing, clean, require, exclude_pat, children_only=children_only, recurse=recurse
    )


def _clear_the_way(name: str, path: str, backupname: str | None, changes: dict[str, Any], *, force: bool) -> Row | None:
    """Remove or rename a file or link at the path. Return the row if the state ends there."""
    dry_run = is_dry_run()
    kind = "Symlink" if filesystem.is_link(path) else "File"
    if backupname is not None:
        backupname = plain(backupname)
        if not os.path.isabs(backupname):
            return failed(name, f"Backupname must be an absolute path: {backupname}")
        if filesystem.judges() and (problem := unfit_backup(path, backupname)):
            return failed(name, problem)
        if filesystem.lexists(backupname):
            if not force:
                return failed(name, f"File exists where the backup target {backupname} should go")
            if dry_run:
                changes["forced"] = f"Existing file at backup path {backupname} would be removed"
            else:
                __salt__["file.remove"](backupname)
        if not filesystem.room_for(backupname):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), backupname)
        if dry_run:
            changes["backup"] = f"{path} would be renamed to {backupname}"
            changes[path] = {"directory": "new"}
            return would_change(name, f"{path} would be backed up and replaced with a new directory", changes)
        filesystem.rename(path, backupname)
        return None
    if not force:
        kind = "file" if _leads_to_file(path) else "symlink"
        return failed(name, f"Specified location {path} exists and is a {kind}")
    if _leads_to_file(path):
        kind = "File"
    if filesystem.foretells():
        filesystem.require_removable(path)
    if dry_run:
        changes["forced"] = f"{kind} would be forcibly replaced"
    else:
        __salt__["file.remove"](path)
        changes["forced"] = f"{kind} was forcibly replaced"
    return None


def _leads_to_file(name: str) -> bool:
    """Return whether ``name`` is a file or a link to one; a link that belongs to a user is not followed."""
    try:
        return filesystem.is_file(name)
    except PathRefused:
        return False


def _announcement(changes: dict[str, Any]) -> str:
    lines = [f"{path}: {key} - {value}\n" for path, change in changes.items() for key, value in change.items()]
    return "The following files will be changed:\n" + "".join(lines)


def _walk(top: str, max_depth: int | None) -> list[Listing]:
    """Return ``top`` and the directories below it, at most ``max_depth`` levels deep."""
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
    """Return the options of ``recurse``. Raises TypeError or ValueError, which name the mistake."""
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
    """The owner and modes that a directory and its content must have; finds and corrects differences."""

    def __init__(
        self, name: str, user: Any, group: Any, dir_mode: str | None, file_mode: str | None, follow_symlinks: bool
    ) -> None:
        self.name = name
        self.user = user or None
        self.group = group or None
        self.dir_mode = dir_mode
        self.file_mode = file_mode
        self.follow_symlinks = follow_symlinks
        self.recursion: set[str] = set()
        self.refused: list[str] = []  # in a dry run: owners that a run cannot set
        self.uid = __salt__["file.user_to_uid"](user) if self.user is not None else None
        self.gid = __salt__["file.group_to_gid"](group) if self.group is not None else None

    def set_recursion(self, recurse: Any) -> None:
        self.recursion = recursion(recurse)

    def differences(self, listing: list[Listing], *, children_only: bool) -> dict[str, Any]:
        """Return ``{path: {what: wanted}}`` for everything that must change."""
        changes: dict[str, Any] = {}
        if self.recursion:
            for root, dirs, files in listing:
                if "ignore_files" not in self.recursion:
                    self._compare(changes, root, files, self._inherited(self.file_mode))
                if "ignore_dirs" not in self.recursion:
                    self._compare(changes, root, dirs, self._inherited(self.dir_mode))
        if not children_only:
            # What a recursion does not name is no reason for a change, but set with one: Salt's rows say so.
            wanted = self._inherited(self.dir_mode) if self.recursion else self._own()
            if difference := self._difference(self.name, *wanted):
                changes[self.name] = difference
            if changes and self.recursion:  # the call notes refused owners and modes that the recursion does not name
                rest = (None if named else own for own, named in zip(self._own(), wanted, strict=True))
                self._difference(self.name, *rest)
        return changes

    def of_itself(self) -> dict[str, Any]:
        """Return what must change of the directory alone."""
        return self._difference(self.name, *self._own())

    def refusal(self, *, new: bool) -> str:
        """Return a dry run's error about owners that a run cannot set, for a ``new`` or an existing directory."""
        if not new:
            return "; ".join(self.refused)
        wanted = {"user": self.user, "group": self.group}
        return _unchanged({kind: wanted[kind] for kind in filesystem.refused_owners(self.uid, self.gid)})

    def _own(self) -> tuple[Any, Any, str | None]:
        return self.user, self.group, self.dir_mode

    def _inherited(self, mode: str | None) -> tuple[Any, Any, str | None]:
        """Return owner, group and mode for the content of the directory."""
        return (
            self.user if "user" in self.recursion else None,
            self.group if "group" in self.recursion else None,
            mode if "mode" in self.recursion else None,
        )

    def _compare(
        self, changes: dict[str, Any], root: str, names: list[str], wanted: tuple[Any, Any, str | None]
    ) -> None:
        for name in names:
            path = os.path.join(root, name)
            difference = self._difference(path, *wanted)
            if difference:
                changes[path] = difference

    def _difference(self, path: str, user: Any, group: Any, mode: str | None) -> dict[str, Any]:
        try:
            found = filesystem.lstat(path)
            if self.follow_symlinks and stat.S_ISLNK(found.st_mode):
                found = _followed(path, found)
        except (FileNotFoundError, NotADirectoryError):
            return {"directory": "new"}
        changes: dict[str, Any] = {}
        if user is not None and self.uid != found.st_uid:
            changes["user"] = user
        if group is not None and self.gid != found.st_gid:
            changes["group"] = group
        uid, gid = self.uid if "user" in changes else None, self.gid if "group" in changes else None
        self.refused += [_unchanged({kind: changes[kind]}) for kind in filesystem.refused_owners(uid, gid, found)]
        if mode is not None and mode != f"{stat.S_IMODE(found.st_mode):04o}" and not stat.S_ISLNK(found.st_mode):
            changes["mode"] = mode
        return changes

    def enforce(self, row: Row, listing: list[Listing]) -> tuple[Row, list[str]]:
        """Correct the differences in the directory's content; return the row and the errors."""
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
                    row, _ = __salt__["file.check_perms"](path, row, user, group, mode, None, self.follow_symlinks)
                except (CommandExecutionError, PathRefused, OSError) as error:
                    errors.append(str(error))
                    row["changes"].pop(path, None)
        return row, errors


def _followed(path: str, link: os.stat_result) -> os.stat_result:
    """Return the status of a link's target, or of the link itself if it is broken or may not be followed."""
    try:
        return filesystem.stat(path)
    except (PathRefused, OSError):
        return link


def _unkept(name: str, listing: list[Listing], require: Any, exclude_pat: Any) -> dict[str, Any]:
    """Return the paths that ``clean`` has to remove."""
    keep = required_files(name, require)
    changes: dict[str, Any] = {}
    for root, dirs, files in listing:
        for entry in [*files, *dirs]:
            path = os.path.join(root, entry)
            if any(path in kept for kept in keep) or not is_included(os.path.relpath(path, name), None, exclude_pat):
                continue
            changes[path] = {"removed": "Removed due to clean"}
    return changes


def _unfit(changes: dict[str, Any]) -> str:
    """Return the error of a run that cannot remove or change what it has to, "" if it can; for dry runs."""
    mounted = filesystem.mount_points() if any("removed" in change for change in changes.values()) else []
    for path, change in changes.items():
        if "removed" not in change:
            if "directory" not in change:
                filesystem.require_changeable(path)
        elif os.path.dirname(path) not in changes and (problem := unremovable([path], mounted)):
            return problem
    return ""


def _forget_unremoved(changes: dict[str, Any], removed: list[str]) -> None:
    """Drop the expected changes of paths that ``clean`` did not remove."""
    gone = tuple(f"{path}/" for path in removed)
    for path in [path for path, change in changes.items() if isinstance(change, dict) and "removed" in change]:
        if not f"{path}/".startswith(gone):
            del changes[path]


def _created(name: str, check: _Check, changes: dict[str, Any]) -> Row:
    """Return the row of a new directory, which may lack an owner or mode that this process cannot set."""
    path = check.name
    if not filesystem.is_directory(path):
        return failed(name, f"Failed to create directory {path}", changes)
    missing = check.of_itself()
    changes = {**changes, path: {"directory": "new"}}
    problem = _unchanged(missing)
    return failed(name, problem, changes) if problem else changed(name, "", changes)


def _unchanged(wanted: dict[str, Any]) -> str:
    return "; ".join(f"Failed to change {kind} to {value}" for kind, value in wanted.items())


def _unnamed_owner(check: _Check) -> str:
    """Return the error of a directory whose content is to get an owner or group that is not given."""
    problem = ""
    for kind, value in (("user", check.user), ("group", check.group)):
        if kind in check.recursion and not value and not isinstance(value, int):
            problem = f"{kind} not specified, but configured as a target for recursive ownership management"
    return problem


def _settle(
    name: str,
    check: _Check,
    changes: dict[str, Any],
    listing: list[Listing],
    clean: bool,
    require: Any,
    exclude_pat: Any,
    *,
    children_only: bool,
    recurse: Any,
) -> Row:
    """Set owner and mode of an existing directory and its content, clean it, and return the row."""
    path = check.name
    row = changed(name, "", changes)
    errors: list[str] = []
    if not children_only:
        row, _ = __salt__["file.check_perms"](
            path, row, check.user, check.group, check.dir_mode, None, check.follow_symlinks
        )
    if problem := _unnamed_owner(check):
        row["result"] = False
        row["comment"] = problem
    if check.recursion:
        if "silent" in check.recursion:
            row["changes"] = {"recursion": "Changes silenced"}
        row, errors = check.enforce(row, listing)
    if clean:
        removed, stopped = clean_directory(path, required_files(path, require), exclude_pat)
        if stopped:
            errors.append(stopped)
            _forget_unremoved(row["changes"], removed)
        if removed:
            row["changes"]["removed"] = removed
            row["comment"] = f"Files cleaned from directory {path}"
    if not row["comment"] and (children_only or row["changes"]):
        row["comment"] = f"Directory {path}/* updated" if children_only else f"Directory {path} updated"
    if not row["changes"] and row["result"]:
        row["comment"] = "\n".join(filter(None, (f"Directory {path} is in the correct state", row["comment"])))
    if errors:
        listed = "".join(f"\n- {error}" for error in errors)
        comment = f"{row['comment']}\n\nThe following errors were encountered:\n{listed}"
        return failed(name, comment, row["changes"])
    return row
