"""Documentation as text of a given width: paragraphs are wrapped anew, examples and lists stay as they are."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = re.compile(r"\S+(?: \S+)*?  +(?=\S)")
"""The first cell of a row of a table: two spaces end it."""
_ITEM = re.compile(r"(?:[-*+]|\d+[.)]) +")


def filled(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text. Paragraphs and rows that are wider than ``width`` are broken anew.

    What is indented stands for itself. A word is never broken.
    """
    paragraph: list[str] = []
    for line in text.splitlines():
        row = _ROW.match(line) or _ITEM.match(line)
        if line and not line[0].isspace() and row is None:
            paragraph.append(line)
            continue
        yield from _broken(paragraph, width)
        paragraph = []
        yield from [line] if row is None or len(line) <= width else _wrapped(line, width, " " * row.end())
    yield from _broken(paragraph, width)


def _broken(paragraph: list[str], width: int) -> list[str]:
    if all(len(line) <= width for line in paragraph):
        return paragraph
    return _wrapped(" ".join(paragraph), width, "")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, max(width, len(indent) + 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
