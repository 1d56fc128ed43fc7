"""Conversion of columns between characters and the editor's units (UTF-16 unless another encoding was agreed)."""

from __future__ import annotations

_BYTES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


def to_units(line: str, column: int, encoding: str) -> int:
    """Return the column of an editor for a column in characters. A column beyond the line stays at its end."""
    if line.isascii() or encoding not in _BYTES:
        return min(column, len(line))
    codec, size = _BYTES[encoding]
    return len(line[:column].encode(codec, "surrogatepass")) // size


def from_units(line: str, column: int, encoding: str) -> int:
    """Return the column in characters for a column of an editor. A column within a character is the character's."""
    if line.isascii() or encoding not in _BYTES:
        return max(0, min(column, len(line)))
    codec, size = _BYTES[encoding]
    return len(line.encode(codec, "surrogatepass")[: max(0, column) * size].decode(codec, "ignore"))
