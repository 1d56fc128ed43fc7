"""The editor's texts, and changes of them.

pygls ends lines also at characters such as U+2028 and a form feed, where an editor does not: its text would differ
from the editor's after the next change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from asyncstate.extras.editor.units import from_units

if TYPE_CHECKING:
    from collections.abc import Iterable

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_HALF: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def changed_text(text: str, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: str) -> str:
    """Return a text after changes, whose places count as the editor does. A place beyond the text is its end."""
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = (_offset(text, place, encoding) for place in (change.range.start, change.range.end))
            text = f"{text[:start]}{change.text}{text[end:]}"
        else:
            text = change.text
    return text


def whole(text: str) -> str:
    """Return a text without lone surrogates, which no file can have."""
    return text if text.isascii() else _HALF.sub(_REPLACEMENT, text)


def _offset(text: str, place: types.Position, encoding: str) -> int:
    start = 0
    if place.line > 0:
        for number, found in enumerate(_BREAK.finditer(text), 1):
            if number == place.line:
                start = found.end()
                break
        else:
            return len(text)
    end = _BREAK.search(text, start)
    line = text[start : end.start() if end else len(text)]
    return start + from_units(line, place.character, encoding)
