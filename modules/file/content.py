"""What a file is to hold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .atomic import Replacement

_CHUNK = 1 << 20


class Content:
    """What a file is to hold: bytes, or the path of a file to copy, read as a whole only if a diff needs it."""

    __slots__ = ("data", "path")

    def __init__(self, data: bytes | None, path: str = "") -> None:
        self.data = data
        self.path = path

    @classmethod
    def of(cls, contents: Any, path: str, encoding: str | None = None, errors: str = "strict") -> Content | None:
        """Return the content a state asks for, None if it asks for none."""
        if contents is None:
            return cls(None, path) if path else None
        if isinstance(contents, bytes):
            return cls(contents)
        return cls(str(contents).encode(encoding or "utf-8", errors))

    def read(self) -> bytes:
        """Return all of it."""
        return self.data if self.data is not None else read_bytes(self.path)

    def is_that_of(self, path: str, found: os.stat_result) -> bool:
        """Tell whether the file ``path`` holds this already."""
        if self.data is not None:
            return found.st_size == len(self.data) and read_bytes(path) == self.data
        if found.st_size != os.stat(self.path).st_size:
            return False
        with open(path, "rb") as present, open(self.path, "rb") as wanted:
            while chunk := present.read(_CHUNK):
                if chunk != wanted.read(_CHUNK):
                    return False
        return True

    def write_to(self, new: Replacement) -> None:
        """Write it into a file under construction."""
        if self.data is not None:
            new.write(self.data)
        else:
            new.copy_from(self.path)


def read_bytes(path: str) -> bytes:
    """Return all a file holds."""
    with open(path, "rb") as stream:
        return stream.read()
