"""Reads a log that is mapped into memory, and keeps no more of it there than a piece."""

from __future__ import annotations

from mmap import MADV_DONTNEED, PAGESIZE, mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 1 << 20
"""Bytes that are read at a time, about."""


def pieces(log: bytes | mmap, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the pieces from ``begin`` to ``end``; each is given back when the next one is asked for."""
    for first in range(begin, end, PIECE):
        last = min(first + PIECE, end)
        yield first, last
        let_go(log, first, last)


def end_of_line(log: bytes | mmap, begin: int) -> int:
    """Return where the line from ``begin`` on ends, behind its newline; 0 if it has none."""
    for first, last in pieces(log, begin, len(log)):
        at = log.find(b"\n", first, last)
        if at >= 0:
            return at + 1
    return 0


def let_go(log: bytes | mmap, first: int, last: int) -> None:
    """Give back the memory of a part that was read."""
    if isinstance(log, mmap):
        first -= first % PAGESIZE
        log.madvise(MADV_DONTNEED, first, last - first)
