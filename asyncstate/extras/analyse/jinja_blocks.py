"""Lines of a template inside block statements: loops, macros, conditions."""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError

_OPENING = frozenset({"for", "if", "macro", "call", "filter", "block", "with", "autoescape", "raw", "trans"})


def lines_in_blocks(text: str) -> frozenset[int]:
    """Return the lines (from 1) of ``text`` inside block statements, including their own; all lines if unparsable."""
    count = text.count("\n") + 1
    if "{" not in text:
        return frozenset()
    inside: set[int] = set()
    begun: list[int] = []
    statement: list[tuple[str, str]] | None = None
    try:
        for line, kind, value in Environment(autoescape=False).lex(text):  # noqa: S701 - nothing is rendered
            if kind == "block_begin":
                statement = []
            elif kind == "block_end" and statement is not None:
                _take(statement, line, begun, inside)
                statement = None
            elif kind == "raw_begin":
                begun.append(line)
            elif kind == "raw_end" and begun:
                inside.update(range(begun.pop(), line + 1))
            elif statement is not None and kind != "whitespace":
                statement.append((kind, value))
    except TemplateSyntaxError:
        return frozenset(range(1, count + 1))
    if statement is not None:
        return frozenset(range(1, count + 1))
    for first in begun:
        inside.update(range(first, count + 1))
    return frozenset(inside)


def _take(statement: list[tuple[str, str]], line: int, begun: list[int], inside: set[int]) -> None:
    """Record the start or the end of a block; ``begun`` are the first lines of the open blocks."""
    name = statement[0][1] if statement else ""
    if name.startswith("end"):
        if begun:
            inside.update(range(begun.pop(), line + 1))
    elif name in _OPENING or (name == "set" and ("operator", "=") not in statement):
        begun.append(line)
