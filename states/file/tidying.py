"""``file.tidied``, ``file.pruned``, ``file.retention_schedule``: removing old, empty or surplus files."""

from __future__ import annotations

import os
import re
import stat
import sys
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.values import bytes_of
from asyncstate.dunders import Row, __salt__, changed, check_cancelled, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError, PathRefused

from .arguments import expand
from .cleaning import unremovable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo


def tidied(
    name: str,
    age: int = 0,
    matches: str | list[str] | None = None,
    rmdirs: bool = False,
    size: str | float = 0,
    exclude: str | list[str] | None = None,
    full_path_match: bool = False,
    followlinks: bool = False,
    time_comparison: Any = "atime",
    age_size_logical_operator: str = "OR",
    age_size_only: str | None = None,
    rmlinks: bool = True,
    **kwargs: Any,
) -> Row:
    """Remove files below ``name`` that are ``age`` days old or of ``size`` ("10K", "3MB"), and match an expression.

    Directories are removed with ``rmdirs`` only. ``age_size_logical_operator: AND`` requires age and size,
    ``age_size_only`` looks at one of them.
    """
    name = expand(name)
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    if not filesystem.is_directory(name):
        return failed(name, f"{name} does not exist or is not a directory.")
    try:
        wanted = [re.compile(pattern) for pattern in _listed(matches, [".*"])]
        unwanted = [re.compile(pattern) for pattern in _listed(exclude, [])]
    except re.error as error:
        return failed(name, f"Invalid regular expression: {error}")
    by = str(time_comparison).lower()
    clock = by if by in {"atime", "ctime", "mtime"} else "atime"
    limit = bytes_of(size) if isinstance(size, str) else size
    if limit is None:
        return failed(name, f"'size' must be a number of bytes, perhaps with a unit such as 10K or 3MB, not {size!r}")
    old_enough = timedelta(days=age or 0)
    only = str(age_size_only or "").lower()
    both = age_size_logical_operator.upper() == "AND"
    to_remove = []
    for path, found in _below(name, followlinks):
        is_link, is_directory = stat.S_ISLNK(found.st_mode), stat.S_ISDIR(found.st_mode)
        if (is_link and not rmlinks) or (is_directory and not rmdirs):
            continue
        old = abs(date.today() - date.fromtimestamp(getattr(found, f"st_{clock}"))) >= old_enough  # noqa: DTZ011, DTZ012 - local days
        large = (0 if is_link or is_directory else found.st_size) >= limit
        if not {"age": old, "size": large}.get(only, (old and large) if both else (old or large)):
            continue
        subject = path if full_path_match else os.path.basename(path)
        if any(p.match(subject) for p in wanted) and not any(p.match(subject) for p in unwanted):
            to_remove.append(path)
    if not to_remove:
        return unchanged(name, f"Nothing to remove from directory {name}")
    if is_dry_run():
        problem = unremovable(to_remove)
        return (
            failed(name, problem) if problem else would_change(name, f"{name} is set for tidy", {"removed": to_remove})
        )
    return _remove_all(name, to_remove)


def _listed(patterns: Any, default: list[str]) -> list[str]:
    if patterns is None:
        return default
    return [patterns] if isinstance(patterns, str) and patterns else list(patterns)


def _below(top: str, followlinks: bool) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything below a directory, the deepest first."""
    for root, dirs, files in filesystem.walk(top, topdown=False, follow=followlinks):
        check_cancelled()
        for entry in [*files, *dirs]:
            path = os.path.join(root, entry)
            try:
                yield path, filesystem.lstat(path)
            except FileNotFoundError:
                continue


def _remove_all(name: str, to_remove: list[str]) -> Row:
    removed: list[str] = []
    try:
        for path in to_remove:
            __salt__["file.remove"](path)
            removed.append(path)
    except (CommandExecutionError, PathRefused) as error:
        return failed(name, str(error), {"removed": removed} if removed else {})
    return changed(name, f"Removed {len(to_remove)} files or directories from directory {name}", {"removed": removed})


def pruned(name: str, recurse: bool = False, ignore_errors: bool = False, older_than: Any = None) -> Row:
    """Remove an empty directory, with ``recurse`` also the empty ones below it; ``ignore_errors`` skips full ones."""
    name = expand(name)
    recurse = recurse or ignore_errors
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    if not filesystem.is_directory(name):
        return unchanged(name, f"Directory {name} is not present")
    if filesystem.foretells() and not older_than and not _prunable(name, recurse=recurse, ignore_errors=ignore_errors):
        return failed(name, f"Failed to remove directory {name}")
    if is_dry_run():
        return would_change(name, f"Directory {name} is set for removal", {"deleted": name})
    done = __salt__["file.rmdir"](name, recurse=recurse, verbose=True, older_than=older_than)
    worked = done.pop("result")
    if recurse and done["deleted"] and (worked or ignore_errors):
        removed = {"deleted": sorted(done["deleted"])}
        return changed(name, f"Recursively removed empty directories under {name}", removed)
    if not worked:
        return failed(name, f"Failed to remove directory {name}", done)
    return unchanged(name) if recurse else changed(name, f"Removed directory {name}", {"deleted": name})


def _prunable(name: str, *, recurse: bool, ignore_errors: bool) -> bool:
    """Return whether ``rmdir`` would succeed, or with ``ignore_errors`` remove anything. It removes no link."""
    if filesystem.is_link(name):
        return False
    if not recurse:
        return not filesystem.listdir(name)
    if ignore_errors:
        return any(not directories and not files for _, directories, files in filesystem.walk(name))
    return not any(
        files or any(filesystem.is_link(os.path.join(folder, each)) for each in directories)
        for folder, directories, files in filesystem.walk(name)
    )


_DEPTHS = {"first_of_year": 1, "first_of_month": 2, "first_of_day": 3, "first_of_hour": 4, "most_recent": 5}


def retention_schedule(name: str, retain: Any, strptime_format: str | None = None, timezone: str | None = None) -> Row:
    """Keep as many files of a directory as ``retain`` says (first_of_year: 3, most_recent: all, …); delete the rest.

    A file's time is read from its name (``strptime_format``), else it is that of its last change.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.retention_schedule")
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    if not filesystem.is_directory(name):
        return failed(name, "Name provided to file.retention must be a directory")
    if not isinstance(retain, dict):
        return failed(name, f"'retain' must be a mapping of rules to numbers, not {retain!r}")
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - the other states of files need no time zone

    try:
        zone = ZoneInfo(timezone) if timezone else None
        counts = {rule: sys.maxsize if number == "all" else int(number) for rule, number in retain.items()}
    except (ValueError, TypeError, ZoneInfoNotFoundError, OSError) as error:
        return failed(name, f"Invalid retention or timezone: {error}")
    moments: dict[str, datetime] = {}
    ignored = []
    for entry in __salt__["file.readdir"](name):
        moment = _moment(name, entry, strptime_format, zone)
        if moment is None:
            ignored.append(entry)
        else:
            moments[entry] = moment
    kept: set[str] = set()
    for rule, number in counts.items():
        if rule not in _DEPTHS and rule != "first_of_week":
            return failed(name, f"Unknown retention rule '{rule}'")
        kept |= _retained(moments, rule, number)
    deletable = sorted(set(moments) - kept, reverse=True)
    changes = {"retained": sorted(kept, reverse=True), "deleted": deletable, "ignored": sorted(ignored, reverse=True)}
    if not deletable:
        verb = "would have been" if is_dry_run() else "were"
        return unchanged(name, f"0 backups {verb} removed from {name}.\n")
    if is_dry_run():
        if problem := unremovable(os.path.join(name, entry) for entry in deletable):
            return failed(name, problem)
        return would_change(name, f"{len(deletable)} backups would have been removed from {name}.\n", changes)
    deleted: list[str] = []
    try:
        for entry in deletable:
            __salt__["file.remove"](os.path.join(name, entry))
            deleted.append(entry)
    except (CommandExecutionError, PathRefused) as error:
        return failed(name, str(error), changes | {"deleted": deleted})
    return changed(name, f"{len(deletable)} backups were removed from {name}.\n", changes)


def _moment(folder: str, entry: str, strptime_format: str | None, timezone: ZoneInfo | None) -> datetime | None:
    if strptime_format:
        try:
            return datetime.strptime(entry, strptime_format).replace(tzinfo=UTC)
        except ValueError:
            return None
    if entry in {".", ".."}:
        return None
    try:
        return datetime.fromtimestamp(filesystem.lstat(os.path.join(folder, entry)).st_mtime, timezone or UTC)
    except FileNotFoundError:
        return None


def _retained(moments: dict[str, datetime], rule: str, number: int) -> set[str]:
    """Return the first file of each of the last ``number`` periods; for most_recent, the last ``number`` files."""
    first: dict[tuple[Any, ...], str] = {}
    for entry in sorted(moments, key=lambda entry: moments[entry]):
        moment = moments[entry]
        if rule == "first_of_week":
            period: tuple[Any, ...] = (moment.year, moment.isocalendar().week)
        else:
            parts = (moment.year, moment.month, moment.day, moment.hour, moment)
            period = parts[: _DEPTHS[rule]]
        first.setdefault(period, entry)
    if rule == "first_of_week":
        number = min(number + 1, sys.maxsize)  # the current week does not count
    return {first[period] for period in sorted(first, reverse=True)[:number]}
