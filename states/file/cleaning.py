"""``clean: True``: removal of the files in a directory that no other state manages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.patterns import is_included
from asyncstate.dunders import __lowstate__, __salt__, check_cancelled, is_dry_run
from asyncstate.errors import CommandExecutionError, PathRefused

from .._paths import plain  # noqa: TID252 - as `states` for type checkers
from .salttree import recursed_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def required_files(name: str, require: Any) -> list[str]:
    """Return the paths inside ``name`` that the file states in ``require`` manage: files, and all below directories."""
    keep: set[str] = set()
    items = require if isinstance(require, list) else []
    wanted = {item["file"] for item in items if isinstance(item, dict) and "file" in item}
    for low in _lowstate() if wanted else ():
        path = low.get("name")
        if path not in wanted and low.get("__id__") not in wanted:
            continue
        if not isinstance(path, str) or not filesystem.is_directory(path):
            keep.add(str(path))
        elif _is_inside(path, name):
            keep.update(recursed_paths(low) if low.get("fun") == "recurse" else _everything(path))
    return sorted(keep)


def _lowstate() -> Iterator[dict[str, Any]]:
    chunks: Any = __lowstate__  # a list of chunks, though its proxy serves mappings
    return iter(chunks)


def _is_inside(path: str, directory: str) -> bool:
    return not os.path.relpath(os.path.abspath(path), os.path.abspath(directory)).startswith(os.pardir)


def _everything(path: str) -> set[str]:
    found = {path}
    for root, dirs, files in filesystem.walk(path):
        found.update(os.path.join(root, name) for name in [*dirs, *files])
    return found


def clean_directory(root: str, keep: list[str], exclude_pat: Any) -> tuple[list[str], str]:
    """Remove everything in ``root`` that is neither in ``keep`` nor excluded; a dry run removes nothing.

    Returns the paths, and the error that stopped the removal, "" if none did.
    """
    removed: dict[str, None] = {}
    mounted = filesystem.mount_points() if filesystem.foretells() else []
    try:
        for path in _unmanaged(root, keep, exclude_pat):
            if not is_dry_run():
                _remove(path)
            elif os.path.dirname(path) not in removed and (problem := unremovable([path], mounted)):
                return list(removed), problem
            removed[path] = None
    except (CommandExecutionError, PathRefused, OSError) as error:
        return list(removed), str(error)
    return list(removed), ""


def _unmanaged(root: str, keep: list[str], exclude_pat: Any) -> Iterator[str]:
    kept = {root}
    for path in keep:
        if os.path.isabs(path):
            path = plain(os.path.abspath(path))
            while path not in kept and path != os.path.dirname(path):
                kept.add(path)
                path = os.path.dirname(path)
    for folder, dirs, files in filesystem.walk(root):
        check_cancelled()
        dirs.sort()
        known = plain(os.path.abspath(folder))
        for name in [*dirs, *sorted(files)]:
            path = os.path.join(folder, name)
            if os.path.join(known, name) not in kept and is_included(os.path.relpath(path, root), None, exclude_pat):
                yield path


def unremovable(paths: Iterable[str], mounted: Sequence[str] | None = None) -> str:
    """Return the error of a run that cannot remove one of the paths, "" if it can; for dry runs.

    ``mounted`` is as for `filesystem.require_removable`.
    """
    if not filesystem.foretells():
        return ""
    mounted = filesystem.mount_points() if mounted is None else mounted
    for path in paths:
        try:
            filesystem.require_removable(path, mounted=mounted)
        except OSError as error:
            return f"Could not remove '{path}': {error}"
    return ""


def _remove(path: str) -> None:
    if not __salt__["file.remove"](path) and filesystem.lexists(path):
        raise CommandExecutionError(f"Could not remove '{path}'")
