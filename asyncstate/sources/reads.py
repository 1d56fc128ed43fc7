"""The files of a tree that a compilation reads or looks up, with digests."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_noted: ContextVar[dict[str, str] | None] = ContextVar("asyncstate_reads", default=None)


@contextmanager
def noted_reads() -> Iterator[dict[str, str]]:
    """Record the files that this thread and its worker threads find or read in the block.

    Each path has the sha256 of the content at the first read, "" if it was only found.
    """
    found: dict[str, str] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_found(path: str) -> None:
    """Record that a file client found a file."""
    noted = _noted.get()
    if noted is not None and path not in noted:
        noted[path] = ""


def note_read(path: str, content: bytes) -> None:
    """Record the content that a file client read."""
    noted = _noted.get()
    if noted is not None and not noted.get(path):
        noted[path] = sha256(content).hexdigest()
