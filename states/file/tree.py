"""``file.recurse``: a whole directory of the file roots."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.patterns import refused_patterns
from asyncstate.dunders import (
    Row,
    __salt__,
    changed,
    check_cancelled,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)
from asyncstate.errors import CommandExecutionError, PathRefused

from .._paths import plain  # noqa: TID252 - as `states` for type checkers
from .arguments import expand, impossible_mode, missing_accounts, normalize_mode, owner_of
from .cleaning import clean_directory, required_files
from .directory import directory
from .links import symlink
from .managed import managed
from .salttree import TreeContent, existing_sources

if TYPE_CHECKING:
    from collections.abc import Callable


def recurse(
    name: str,
    source: Any,
    keep_source: bool = True,
    clean: bool = False,
    require: Any = None,
    user: str | int | None = None,
    group: str | int | None = None,
    dir_mode: Any = None,
    file_mode: Any = None,
    sym_mode: Any = None,
    template: str | None = None,
    context: dict[str, Any] | None = None,
    replace: bool = True,
    defaults: dict[str, Any] | None = None,
    include_empty: bool = False,
    backup: Any = "",
    include_pat: Any = None,
    exclude_pat: Any = None,
    maxdepth: int | None = None,
    keep_symlinks: bool = False,
    force_symlinks: bool = False,
    win_owner: Any = None,
    win_perms: Any = None,
    win_deny_perms: Any = None,
    win_inheritance: bool = True,
    merge: bool = False,
    **kwargs: Any,
) -> Row:
    """Make ``name`` hold the files of a ``salt://`` directory, each managed as ``file.managed`` would.

    Of a list of sources the first that exists is used; with ``merge`` all are used, and the first that has a file wins.
    ``clean`` removes everything else. Empty directories are copied with ``include_empty`` only, links as links with
    ``keep_symlinks`` only.
    """
    kwargs.pop("env", None)
    name = expand(str(name))
    if "mode" in kwargs:
        return failed(name, "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.")
    user = owner_of(kwargs, user)
    dir_mode = normalize_mode(dir_mode)
    keep_mode = isinstance(file_mode, str) and file_mode.lower() == "keep"
    problem = missing_accounts(user, group) if user or group else ""
    problem = problem or impossible_mode(dir_mode) or ("" if keep_mode else impossible_mode(normalize_mode(file_mode)))
    if problem:
        return failed(name, problem)
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    if filesystem.judges() and (problem := refused_patterns(include_pat, exclude_pat)):
        return failed(name, problem)
    top = plain(name)
    try:
        sources = existing_sources(source)
    except CommandExecutionError as error:
        return failed(name, f"Recurse failed: {error}")
    is_new = not filesystem.is_directory(top)
    if is_new and filesystem.exists(top):
        return failed(name, f"The path {top} exists and is not a directory")
    content = TreeContent(top, keep_symlinks, include_pat, exclude_pat, maxdepth, include_empty)
    for single in sources if merge else sources[:1]:
        content.add(single)
    if is_new:
        try:
            make = partial(__salt__["file.makedirs_perms"], name=top, user=user, group=group, mode=dir_mode)
            filesystem.room_for(f"{top}/", make)
        except OSError as error:
            return failed(name, f"Recurse failed: {error}")
    parts = _Parts(name, clean=clean)
    if is_new and filesystem.judges() and not (content.directories or content.files or content.links):
        new = {"directory": "new"}  # otherwise what is put there says so
        parts.merge(top, would_change(top, f"{top} is set to be made", new) if is_dry_run() else changed(top, "", new))
    for path in sorted(content.directories):
        if parts.make_way(path, "Replacing {} with a directory", "Replaced file with a directory", os.path.isdir):
            parts.take(path, directory, path, user=user, group=group, recurse=[], dir_mode=dir_mode, makedirs=True)
    passed = {key: value for key, value in kwargs.items() if key != "makedirs"}
    for path, url in sorted(content.files.items()):
        check_cancelled()
        if (
            replace
            and filesystem.is_directory(path)
            and not parts.make_way(
                path, "Replacing directory {} with a file", "Replaced directory with a new file", os.path.isfile
            )
        ):
            continue
        parts.take(
            path,
            managed,
            path,
            source=url,
            keep_source=keep_source,
            user=user,
            group=group,
            mode="keep" if keep_mode else normalize_mode(file_mode),
            template=template,
            makedirs=True,
            replace=replace,
            context=context,
            defaults=defaults,
            backup=backup,
            **passed,
        )
    for path, target in sorted(content.links.items()):
        parts.take(
            path, symlink, path, target, makedirs=True, force=force_symlinks, user=user, group=group, mode=sym_mode
        )
    if clean:
        keep = [*content.keep, *required_files(top, require)]
        parts.cleaned(*clean_directory(top, keep, exclude_pat))
    return parts.row()


class _Parts:
    """Combines the rows of a tree's files and directories into one."""

    def __init__(self, name: str, *, clean: bool) -> None:
        self.name = name
        self.clean = clean
        self.result: bool | None = True
        self.changes: dict[str, Any] = {}
        self.comments: dict[str, list[str]] = {}
        self.ways: tuple[str, ...] = ()
        """Paths below a path that a dry run would replace: their current content does not matter."""

    def take(self, path: str, state: Callable[..., Row], *args: Any, **kwargs: Any) -> None:
        """Run the state of one part; a refused part does not stop the others."""
        if path.startswith(self.ways):
            self.merge(path, would_change(path, f"{path} is set to be made"))
            return
        try:
            row = state(*args, **kwargs)
        except (PathRefused, CommandExecutionError, OSError) as error:
            row = failed(path, str(error))
        if row["result"] is False and not row["changes"]:
            row["changes"] = {
                change: mine
                for change, paths in filesystem.changes_so_far().items()
                if (mine := [each for each in paths if f"{each}/".startswith(f"{path}/")])
            }
        self.merge(path, row)

    def merge(self, path: str, row: Row) -> None:
        """Add a part's changes, its comment unless it succeeded, and the worse of the results."""
        if row["result"] is False or self.result is True:
            self.result = row["result"]
        if row["result"] is not True and row["comment"]:
            self.comments.setdefault(path, []).append(row["comment"])
        if row["changes"]:
            self.changes[path] = row["changes"]

    def make_way(self, path: str, would: str, did: str, is_right: Any) -> bool:
        """With ``clean``, remove a path of the wrong kind. False in a dry run, which cannot go on from there."""
        if not self.clean or not filesystem.exists(path) or is_right(path):
            return True
        if is_dry_run():
            self.merge(path, would_change(path, would.format(path)))
            self.ways += (f"{path}/",)
            return False
        __salt__["file.remove"](path)
        self.merge(path, changed(path, "", {"diff": did}))
        return True

    def cleaned(self, removed: list[str], stopped: str) -> None:
        """Add the paths that ``clean`` removed, or would remove, and the error that stopped it to the row."""
        if stopped:
            self.result = False
            self.comments.setdefault(self.name, []).append(stopped)
        if not removed:
            return
        if is_dry_run():
            if self.result:
                self.result = None
            self.comments.setdefault("removed", []).extend(removed)
        else:
            self.changes["removed"] = removed

    def row(self) -> Row:
        """Return the row of the whole tree."""
        if not self.changes and self.result:
            return unchanged(self.name, f"The directory {self.name} is in the correct state")
        text = "\n".join(
            f"\n#### {path} ####\n" + "\n".join(comments) for path, comments in self.comments.items()
        ).strip()
        comment = text or f"Recursively updated {self.name}"
        return make_row(self.name, comment, self.changes, result=self.result)
