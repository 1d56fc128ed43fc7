"""Any data as indented text, in the form of Salt's ``nested`` outputter; unified diffs in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from asyncstate.report.terminal import PLAIN, Palette, clean

if TYPE_CHECKING:
    from collections.abc import Iterator

_RULE = "----------"


def nested_lines(value: Any, indent: int = 0, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the lines of ``value``, keys sorted, each level indented by four more columns."""
    return _lines(value, indent, "", palette)


def _lines(value: Any, indent: int, prefix: str, palette: Palette) -> Iterator[str]:
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        yield from _text(value, indent, prefix, palette)
    elif isinstance(value, Mapping):
        yield from _mapping(value, indent, prefix, palette)
    elif isinstance(value, AbstractSet):
        yield from _sequence(sorted(value, key=str), indent, palette)
    elif isinstance(value, Sequence):
        yield from _sequence(value, indent, palette)
    else:
        shown = str(value) if value is None or isinstance(value, bool) else clean(repr(value))
        yield " " * indent + palette.paint(palette.yellow, prefix + shown)


def _text(text: str, indent: int, prefix: str, palette: Palette) -> Iterator[str]:
    margin = " " * indent
    if is_diff(text):
        yield from (margin + line for line in diff_lines(text, palette))
        return
    for line in text.splitlines():
        yield margin + palette.paint(palette.green, prefix + clean(line))
        prefix = " " * len(prefix)


def _mapping(data: Mapping[Any, Any], indent: int, prefix: str, palette: Palette) -> Iterator[str]:
    margin = " " * indent
    if indent:
        yield margin + palette.paint(palette.cyan, _RULE)
    for key in sorted(data, key=str):
        yield margin + palette.paint(palette.cyan, f"{prefix}{clean(str(key))}") + ":"
        yield from _lines(data[key], indent + 4, "", palette)


def _sequence(items: Sequence[Any], indent: int, palette: Palette) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping) or (
            isinstance(item, (Sequence, AbstractSet)) and not isinstance(item, str | bytes)
        ):
            yield " " * indent + palette.paint(palette.green, "|_")
            yield from _lines(item, indent + 2, "" if isinstance(item, Mapping) else "- ", palette)
        else:
            yield from _lines(item, indent, "- ", palette)


def is_diff(text: str) -> bool:
    """Whether ``text`` is a unified diff."""
    return text.startswith("--- ") and "\n+++ " in text


def diffs_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the unified diffs in any data, each with its key; ``name`` is the key of ``value``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from diffs_in(item, name if key == "diff" else str(key))
    elif isinstance(value, str) and is_diff(value):
        yield name, value


def without_diffs(value: Any) -> Any:
    """Return the data with each unified diff replaced by its size."""
    if isinstance(value, Mapping):
        return {key: without_diffs(item) for key, item in value.items()}
    return diff_size(value) if isinstance(value, str) and is_diff(value) else value


def diff_size(diff: str) -> str:
    """Return the numbers of lines that a unified diff adds and removes: ``+3 -1``."""
    marks = [line[:1] for line in diff.splitlines()[2:]]  # the first two name the files
    numbers = {mark: marks.count(mark) for mark in "+-"}
    return " ".join(f"{mark}{number}" for mark, number in numbers.items() if number) or "no lines"


def diff_lines(text: str, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the lines of a unified diff: added lines green, removed ones red, positions cyan, file names bold."""
    heading = False
    for line in text.splitlines():
        if heading and not line:  # some states of Salt have an empty line after these
            heading = False
            continue
        heading = line.startswith(("--- ", "+++ ", "@@"))
        if line.startswith(("--- ", "+++ ")):
            colour = palette.bold
        elif line.startswith("@@"):
            colour = palette.cyan
        else:
            colour = {"+": palette.green, "-": palette.red}.get(line[:1], "")
        yield palette.paint(colour, clean(line))
