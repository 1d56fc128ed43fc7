"""Writes the files that options like --report name: complete, or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from asyncstate.errors import PathRefused
from asyncstate.filesystem import Access, handed_over, lstat, parent, replace_content, resolved, who_can_change

if TYPE_CHECKING:
    from pathlib import Path

_STREAMS = (stat.S_ISCHR, stat.S_ISFIFO, stat.S_ISSOCK)


def write_file(path: Path | str, data: bytes, *, mode: int | None = None) -> None:
    """Write ``data`` to ``path`` through a private file in the same directory and a rename.

    An existing file keeps its mode, unless ``mode`` is given; only the owner can read a new one, because reports
    contain diffs. A link is followed. ``/dev/null``, ``/dev/stdout``, a terminal or a pipe is written to directly.
    Raises OSError; PathRefused for a block device, and for a link or a pipe that others could have put there.
    """
    name = os.fspath(path)
    number = handed_over(name)
    if number is not None:
        _write(os.dup(number), data)
        return
    target = resolved(name)
    try:
        found = lstat(target).st_mode
    except FileNotFoundError:
        found = stat.S_IFREG
    if stat.S_ISBLK(found):
        raise PathRefused(f"Refusing to write {name}: it is a block device")
    if any(is_kind(found) for is_kind in _STREAMS):
        _write_through(target, data)
    else:
        replace_content(target, data, access=Access(mode=mode or stat.S_IMODE(found) or 0o600))


def _write_through(target: str, data: bytes) -> None:
    if user := who_can_change(os.path.dirname(os.path.abspath(target))):
        raise PathRefused(f"Refusing to write {target}: it is not a regular file, and {user} could have put it there")
    with parent(target) as place:
        descriptor = place.open(os.O_WRONLY)
    os.set_blocking(descriptor, True)
    _write(descriptor, data)


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
