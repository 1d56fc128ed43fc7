"""Arguments that name archives and their members."""

from __future__ import annotations

import glob
import os
import posixpath
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_TAR_ENDINGS = (
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.lzma", ".tlz", ".tar.zst", ".tzst",
)  # fmt: skip


def guess_format(name: str) -> str | None:
    """Return "tar", "zip" or "rar" by the ending of a name, None for any other."""
    name = name.lower()
    if name.endswith(_TAR_ENDINGS):
        return "tar"
    return next((kind for kind in ("zip", "rar") if name.endswith(f".{kind}")), None)


def local_copy(name: str, saltenv: str, source_hash: str | None = None, use_etag: bool = False) -> str:
    """Return the local path of an archive, fetched if necessary. CommandExecutionError if there is none."""
    if os.path.isabs(name):
        if filesystem.is_file(name):
            return name
        raise CommandExecutionError(f"Failed to cache {name}")
    cached = __salt__["cp.cache_file"](name, saltenv, source_hash=source_hash, use_etag=use_etag)
    if not cached:
        raise CommandExecutionError(f"Failed to cache {name}")
    return str(cached)


def positive(strip_components: Any) -> int:
    """Return a number of directories to strip, 0 for none."""
    if not strip_components:
        return 0
    if not str(strip_components).isdecimal() or int(strip_components) <= 0:
        raise CommandExecutionError("'strip_components' must be a positive integer")
    return int(strip_components)


def placed(path: str) -> str:
    """Return the path below the destination at which a member is unpacked, "" for the destination itself.

    One that leads outside, and is not unpacked, begins with ``..``.
    """
    path = path.lstrip("/")
    if ".." not in path.split("/"):
        return path
    normal = posixpath.normpath(path)
    return "" if normal == "." else f"{normal}/" if path.endswith("/") else normal


def stripped(paths: list[str], count: int) -> list[str]:
    """Drop ``count`` directories from the front of each path, and the paths that are not that deep."""
    if not count:
        return sorted(paths)
    parts = (path.split("/", count) for path in paths)
    return sorted(part[count] for part in parts if len(part) > count and part[count])


def trimmed(names: list[str], trim_output: Any) -> list[str]:
    """Return the first ``trim_output`` names (True: 100) and a line that says that the list is shortened."""
    if not trim_output and (isinstance(trim_output, bool) or trim_output != 0):
        return names
    count = 100 if trim_output is True else int(trim_output)
    return [*names[:count], f"List trimmed after {count} files."] if len(names) > count else names


def listed(value: Any) -> list[str]:
    """Return names given as a list, or as a text with commas, as a list."""
    if value is None:
        return []
    return (
        [part.strip() for part in value.split(",")] if isinstance(value, str) else [str(part) for part in _many(value)]
    )


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def expanded(sources: Any) -> list[str]:
    """Return sources with globs replaced by the matching paths."""
    found: list[str] = []
    for source in listed(sources):
        found += glob.glob(source) if glob.has_magic(source) else [source]
    return found
