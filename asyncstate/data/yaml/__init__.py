"""YAML in Salt's dialect.

The dialect is YAML 1.1 with Salt's rules: no octal numbers, no dates, no repeated keys. Other text raises RenderError
with Salt's sentence and the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from asyncstate.data.limits import rare_collections
from asyncstate.data.yaml.compose import Composer, KeyLines
from asyncstate.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Callable

_EventParser: Callable[[str], Any]
try:
    from yaml._yaml import CParser as _EventParser
except ImportError:  # PyYAML built without libyaml: slower, and the wording of a few errors differs
    from yaml import SafeLoader as _EventParser

_LARGE: Final = 50_000
_PROBLEMS: Final = {"found character '\\t' that cannot start any token": "Illegal tab character"}
_TAB: Final = "the line is indented with a tab: YAML takes blanks only, two for each level"
_TWO_COLONS: Final = "mapping values are not allowed"
_NO_KEY: Final = "did not find expected key"
_NEXT_STEPS: Final = {
    _TWO_COLONS: "a colon with a blank behind it begins a value: put the text in quotes",
    "could not find expected ':'": "a key lacks its colon, or a text over several lines its indentation",
    _NO_KEY: "this line, or one above it, is indented otherwise than those it belongs to",
    "did not find expected '-' indicator": "this line, or one above it, is indented otherwise than those it belongs to",
    "did not find expected ',' or": "a bracket or a brace is not closed, or a comma is missing",
    "that cannot start any token": "put the text in quotes: no plain text begins with this character",
    "found conflicting ID": "a key stands twice in one mapping: rename one, or put together what is below both",
    "found unexpected end of stream": "a quotation mark is not closed",
    "did not find expected alphabetic": "put the text in quotes: * and & at its beginning have a meaning in YAML",
    "found undefined alias": "put the text in quotes: * at its beginning repeats what & has named",
    "could not determine a constructor": "put the text in quotes: ! at its beginning names a type",
    "did not find expected comment or line break": "put the text in quotes, or in lines of its own below | or >",
    "block sequence entries are not allowed": "put the text in quotes, or begin a list in the next line",
    "mapping keys are not allowed": "put the text in quotes: ? at its beginning has a meaning in YAML",
    "unknown escape character": "in double quotes a backslash begins an escape: write single quotes",
    "found another document": "a file has one document: remove this line",
    "expected <document start>": "a file has one document: remove the line that ends it",
}
"""Hints by the parser's message."""


class Document:
    """A parsed document: its ``data``, and the ``lines`` of the keys of its two outermost levels.

    ``repeated`` are the repeated keys of the outermost mapping, with their lines, if they are allowed.
    """

    __slots__ = ("data", "lines", "repeated")

    def __init__(self, data: Any, lines: KeyLines, repeated: list[tuple[Any, int]]) -> None:
        self.data: Any = data
        self.lines: KeyLines = lines
        self.repeated: list[tuple[Any, int]] = repeated

    def parts(self) -> tuple[Any, ...]:
        """Return the document as plain data, for `of`."""
        return self.data, self.lines.parts(), self.repeated

    @classmethod
    def of(cls, parts: tuple[Any, ...]) -> Document:
        """Return the document that has these parts."""
        data, lines, repeated = parts
        return cls(data, KeyLines(*lines), repeated)


def parse_document(
    text: str, name: str = "", *, mapping: type[dict[Any, Any]] = dict, first_wins: bool = False
) -> Document:
    """Read the one YAML document in ``text``; an empty one has the data None.

    ``name`` is the file name for errors. With ``first_wins`` the outermost mapping may repeat a key, and the first
    counts. Raises RenderError, whose ``line`` refers to ``text``.
    """
    try:
        if len(text) < _LARGE:
            return _compose(text, mapping, first_wins=first_wins)
        with rare_collections():
            return _compose(text, mapping, first_wins=first_wins)
    except ReaderError as error:
        raise _unreadable(error, text, name) from None
    except UnicodeEncodeError as error:
        from asyncstate.data.text import excerpt_around  # noqa: PLC0415 - an error

        line = text.count("\n", 0, error.start) + 1
        raise RenderError(str(error), file=name, line=line, excerpt=excerpt_around(text, line)) from None
    except yaml.MarkedYAMLError as error:
        raise _render_error(error, text, name) from None


def load_yaml(text: str, name: str = "", *, mapping: type[dict[Any, Any]] = dict) -> Any:
    """Return the data of the one YAML document in ``text``, None if it is empty. Raises RenderError."""
    return parse_document(text, name, mapping=mapping).data


def dump_yaml(data: Any, *, flow: bool | None = None) -> str:
    """Write ``data`` as Salt's ``yaml`` filter prints it: one line with ``flow``, block style without.

    Plain dicts are sorted by key, OrderedDicts are not; what YAML has no type for becomes ``NULL``.
    """
    from asyncstate.data.yaml.write import dump  # noqa: PLC0415 - reading is on the start-up path, writing is not

    return dump(data, flow)


def _compose(text: str, mapping: type[dict[Any, Any]], *, first_wins: bool) -> Document:
    composer = Composer(_EventParser(text).get_event, mapping, first_wins=first_wins)
    return Document(composer.single_document(), composer.lines, composer.repeated)


def _render_error(error: yaml.MarkedYAMLError, text: str, name: str) -> RenderError:
    from asyncstate.data.text import excerpt_around  # noqa: PLC0415 - an error

    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 0
    excerpt = excerpt_around(text, line)
    if isinstance(error, ScannerError) and error.problem:
        problem = _PROBLEMS.get(error.problem, error.problem)
        return RenderError(f"{problem}; line {line}\n\n{excerpt}", file=name, line=line, hint=_next_step(error, text))
    return RenderError(str(error), file=name, line=line, excerpt=excerpt, hint=_next_step(error, text))


def _next_step(error: yaml.MarkedYAMLError, text: str) -> str:
    mark = error.problem_mark
    if mark is not None and "\t" in _indentation(text, mark.line + 1):
        return _TAB
    if mark is not None and _TWO_COLONS in (error.problem or ""):
        if key := _bare_word(text, mark.line):
            return f"the colon after {key} is missing"
        if ":" not in text.splitlines()[mark.line][: mark.column]:
            return "the line above has a value already: indent this line as that one"
    if mark is not None and _NO_KEY in (error.problem or "") and mark.column > len(_indentation(text, mark.line + 1)):
        return "something follows a closing quotation mark or bracket: put the whole text in quotes"
    return next((step for said, step in _NEXT_STEPS.items() if said in (error.problem or "")), "")


def _bare_word(text: str, line: int) -> str:
    """Return the only word of a line, "" if it has a colon or more words."""
    words = "".join(text.splitlines()[line - 1 : line]).split()
    return words[0] if line and len(words) == 1 and ":" not in words[0] else ""


def _indentation(text: str, line: int) -> str:
    found = text.splitlines()[line - 1 : line]
    return found[0][: len(found[0]) - len(found[0].lstrip())] if found else ""


def _unreadable(error: ReaderError, text: str, name: str) -> RenderError:
    """Return the error for a character that YAML forbids, such as the NUL of a binary file, with its place."""
    at = _forbidden(text)
    line = text.count("\n", 0, at) + 1
    what = "binary data, not YAML: " if "\0" in text else ""
    return RenderError(f"{what}{error}", file=name, line=line)


def _forbidden(text: str) -> int:
    """Return the position of the first character YAML forbids."""
    for at, character in enumerate(text):
        if character < " " and character not in "\t\n\r":
            return at
        if "\x7f" <= character < "\xa0" and character != "\x85":
            return at
    return 0
