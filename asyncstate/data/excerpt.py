"""The lines around an error, marked like Salt's."""

from __future__ import annotations

from typing import Final

MARKER: Final = "    <======================"
_AROUND: Final = 5


def excerpt_around(text: str, line: int, around: int = _AROUND, marker: str = MARKER) -> str:
    """Return up to ``around`` lines on each side of ``line`` (1-based), which is marked, between two ``---``.

    For a line beyond the end, by which some parsers report the end, return the whole text.
    """
    lines = text.splitlines()
    if line > len(lines) or line < 1:
        return text
    first = max(0, line - around - 1)
    last = min(len(lines), line + around)
    shown = lines[first:last]
    shown[line - 1 - first] += marker
    if first > 0:
        shown.insert(0, "[...]")
    if last < len(lines):
        shown.append("[...]")
    return "\n".join(["---", *shown, "---"])
