"""The wanted content of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem

if TYPE_CHECKING:
    import os

_CHUNK = 1 << 20


class Content:
    """The wanted content of a file: bytes, or the path of a file to copy, read as a whole only if a diff needs it."""

    __slots__ = ("data", "path")

    def __init__(self, data: bytes | None, path: str = "") -> None:
        self.data = data
        self.path = path

    @classmethod
    def of(cls, contents: Any, path: str, encoding: str | None = None, errors: str = "strict") -> Content | None:
        """Return the content that a state wants, None if it wants none."""
        if contents is None:
            return cls(None, path) if path else None
        if isinstance(contents, bytes):
            return cls(contents)
        return cls(str(contents).encode(encoding or "utf-8", errors or "strict"))

    def read(self) -> bytes:
        """Return the whole content."""
        return self.data if self.data is not None else read_bytes(self.path)

    def is_that_of(self, path: str, found: os.stat_result) -> bool:
        """Return whether the file ``path`` has this content already."""
        if self.data is not None:
            return found.st_size == len(self.data) and read_bytes(path) == self.data
        if found.st_size != filesystem.stat(self.path).st_size:
            return False
        with filesystem.open_read(path) as present, filesystem.open_read(self.path) as wanted:
            while chunk := present.read(_CHUNK):
                if chunk != wanted.read(_CHUNK):
                    return False
        return True

    def write_to(self, new: filesystem.Replacement) -> None:
        """Write the content into a new file."""
        if self.data is not None:
            new.write(self.data)
        else:
            new.copy_from(self.path)


def read_bytes(path: str) -> bytes:
    """Return the whole content of a file."""
    return filesystem.read_bytes(path)
