"""Text in terminal columns: a wide character takes two of them, a combining one none."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def cells(text: str) -> int:
    """Return how many columns ``text``, which has no control characters, takes."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` columns (1 or more); ``…`` marks an omission at the end."""
    if cells(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…"


def cut_within(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` columns (1 or more); ``…`` marks an omission in the middle."""
    if cells(text) <= width:
        return text
    head = set_cell_size(text, width // 2).rstrip()
    tail = ""
    for character in reversed(text):
        if cells(f"{head}…{character}{tail}") > width:
            break
        tail = f"{character}{tail}"
    while tail and not cells(tail[0]):  # it combines with the character before it
        tail = tail[1:]
    return f"{head}…{tail}"


def padded(text: str, width: int) -> str:
    """Return ``text`` with spaces after it, so that it takes at least ``width`` columns."""
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int) -> list[str]:
    """Break ``text`` between words into lines of at most ``width`` columns; a longer word gets a line to itself."""
    lines: list[str] = []
    for word in text.split():
        if lines and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
