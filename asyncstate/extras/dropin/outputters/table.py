"""Salt's ``table`` outputter: lists of mappings, and of lists, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from asyncstate.report.terminal import Palette

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_JUSTIFY = {"center": str.center, "right": str.rjust, "left": str.ljust}
_WIDTH = 50
_DIM, _BRIGHT, _HEADING = Palette.colour("0;37"), Palette.colour("0;1;37"), Palette.colour("0;1;30")


def table(data: Any, opts: Mapping[str, Any], palette: Palette) -> str:
    """Return every list in ``data`` as a table, under its keys. ``out.table.justify`` and others of Salt count."""
    return "\n".join(_Table(opts, palette).lines(data, 0))


class _Table:
    """Salt's options of the outputter."""

    def __init__(self, opts: Mapping[str, Any], palette: Palette) -> None:
        self._palette = palette
        self._justify = _JUSTIFY.get(str(opts.get("out.table.justify", "center")).lower(), str.center)
        self._delimiter = str(opts.get("out.table.delim") or " | ")
        self._rule = str(opts.get("out.table.row_delimiter") or "-")
        self._prefix = str(opts.get("out.table.prefix") or "| ")
        self._suffix = str(opts.get("out.table.suffix") or " |")
        self._width = int(opts.get("out.table.width") or _WIDTH)

    def _paint(self, indent: int, chosen: str, text: str) -> str:
        return " " * indent + self._palette.paint(chosen if self._palette.reset else "", text)

    def lines(self, value: Any, indent: int) -> Iterator[str]:
        """Yield the lines of a value; whatever is neither a mapping nor a list has none."""
        if isinstance(value, Mapping):
            for key in sorted(value, key=str):
                yield self._paint(indent, _HEADING, str(key)) + ":"
                yield self._paint(indent, _HEADING, "----------")
                each = value[key]
                yield from self.rows(each, indent) if isinstance(each, list) else self.lines(each, indent + 4)
        elif isinstance(value, list):
            yield from self.rows(value, indent)

    def rows(self, rows: Sequence[Any], indent: int) -> Iterator[str]:
        """Yield a table; nothing for rows of different kinds, which have no common columns."""
        if not rows or len({type(row) for row in rows}) > 1:
            return
        first = rows[0]
        if isinstance(first, dict):
            heading = [str(key).replace("_", " ").title() for key in sorted(first, key=str)]
            table = [heading, *([str(row[key]) for key in sorted(row, key=str)] for row in rows)]
        elif isinstance(first, list):
            table = [[str(cell) for cell in row] for row in rows]
        else:
            table = [[str(row)] for row in rows]
        yield from self._drawn(table, indent + 4)

    def _drawn(self, table: list[list[str]], indent: int) -> Iterator[str]:
        wrapped = [[list(line) for line in zip_longest(*map(self._wrapped, row), fillvalue="")] for row in table]
        columns = zip_longest(*(line for row in wrapped for line in row), fillvalue="")
        widths = [max(map(len, column)) for column in columns]
        length = len(self._prefix) + len(self._suffix) + sum(widths) + len(self._delimiter) * (len(widths) - 1)
        rule = self._paint(indent, _DIM, self._rule * length)
        yield rule
        for row in wrapped:
            for line in row:
                cells = (self._justify(cell, width) for cell, width in zip(line, widths, strict=False))
                yield self._paint(indent, _BRIGHT, self._prefix + self._delimiter.join(cells) + self._suffix)
            yield rule

    def _wrapped(self, text: str) -> list[str]:
        """Break a cell at spaces, so that its lines are about as long as the column may be wide."""
        lines = [""]
        for number, word in enumerate(text.split(" ")):
            if number and len(lines[-1]) + len(word) >= self._width:
                lines.append(word)
            else:
                lines[-1] += f" {word}" if number else word
        return lines
