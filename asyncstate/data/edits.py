"""The edits of ``file`` as functions on text: for the functions that edit files, and for checks before a run."""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from typing import Any

from asyncstate.errors import CommandExecutionError

_EOL = re.compile(r"((?<!\r)\n|\r(?!\n)|\r\n)$")
LINE_MODES = ("insert", "ensure", "delete", "replace")
"""The modes of ``file.line``."""
_MISSING = "Cannot edit marked block. Markers were not found in file."


def decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and the encoding to write it back with: UTF-8, else Latin-1, which has every byte.

    A byte order mark belongs to the encoding.
    """
    codec = "utf-8-sig" if data.startswith(BOM_UTF8) else "utf-8"
    try:
        return data.decode(codec), codec
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def encoded(text: str, codec: str) -> bytes:
    """Return a text in the encoding that it was read in, or in UTF-8 if that cannot encode what was added."""
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        return text.encode()


def line_end(text: str) -> str:
    """Return the line ending of a text, by its first line."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def regex_flags(flags: Any) -> re.RegexFlag:
    """Return flags given as a number, a name, or a list of names (``MULTILINE``, ``IGNORECASE``, …)."""
    if isinstance(flags, int):
        return re.RegexFlag(flags)
    names = [flags] if isinstance(flags, str) else flags
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise CommandExecutionError(
            f'Invalid re flags: "{flags}", must be given either as a single flag string, a list of strings, '
            "as an integer, or as an re flag"
        )
    combined = re.RegexFlag(0)
    for name in names:
        flag = getattr(re.RegexFlag, str(name).upper(), None)
        if not flag:
            raise CommandExecutionError(f"Invalid re flag given: {name}")
        combined |= flag
    return combined


def byte_flags(flags: Any) -> re.RegexFlag:
    """Return the flags of a pattern that Salt looks for in bytes: classes and an ignored case know ASCII alone."""
    combined = regex_flags(flags) & ~re.LOCALE  # in UTF-8, no byte above ASCII is a letter
    return combined if combined & re.UNICODE else combined | re.ASCII


def compiled(pattern: Any, flags: Any) -> re.Pattern[str]:
    """Compile a pattern. Raises CommandExecutionError if it is invalid."""
    try:
        return re.compile(str(pattern), regex_flags(flags))
    except (re.error, ValueError) as error:  # ValueError: ASCII beside UNICODE
        raise CommandExecutionError(f"Invalid regular expression {pattern!r}: {error}") from error


def replaced(
    text: str,
    pattern: Any,
    repl: Any,
    *,
    count: int = 0,
    flags: Any = 8,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: Any = None,
    backslash_literal: bool = False,
) -> list[str]:
    """Return the lines of a text with each match replaced, or with one more if it has neither a match nor that line.

    What is added is one item even if it has several lines: Salt's diff shows it so.
    """
    literal = str(repl)
    try:
        new, hits = compiled(pattern, flags).subn(
            literal.replace("\\", "\\\\") if backslash_literal else literal, text, count
        )
    except (re.error, IndexError) as error:
        raise CommandExecutionError(f"Invalid replacement {literal!r}: {error}") from error
    lines = new.splitlines(keepends=True)
    if hits or not (append_if_not_found or prepend_if_not_found):
        return lines
    line = literal if not_found_content is None else str(not_found_content)
    # always MULTILINE: with flags that lack it, Salt adds the line again in every run
    if re.search(rf"^{re.escape(line)}($|(?=\r\n))", text, regex_flags(flags) | re.MULTILINE):
        return lines
    end = line_end(text)
    if prepend_if_not_found:
        return [f"{line}{end}", *lines]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    return [*lines, f"{line}{end}"]


def contents_text(parts: Iterable[str], *, newline: bool = True) -> str:
    """Return the contents of a file with uniform line endings, and one at its end if ``newline``."""
    lines = [line.rstrip("\r") for part in parts for line in part.splitlines()]
    text = "\n".join(lines) + ("\n" if lines else "")
    return text if newline else text.rstrip("\n").rstrip("\r")


def appended(text: str, lines: Iterable[Any]) -> str:
    """Return a text with separate lines added at its end."""
    end = line_end(text)
    ended = text if not text or text.endswith("\n") else f"{text}{end}"
    return ended + "".join(f"{line}{end}" for line in lines)


def prepended(text: str, lines: Iterable[Any]) -> str:
    """Return a text with lines at its beginning."""
    end = line_end(text)
    return "".join(f"{line}{end}" for line in lines) + text


def has_lines(text: str, chunk: str) -> bool:
    """Return whether ``text`` has the lines of ``chunk``, with any white space between words."""
    words = [re.escape(word) for line in chunk.splitlines() for word in _words(line)]
    # Each run of white space is scanned once: a file of nothing but line breaks, which any user may write, would
    # otherwise take hours.
    between = r"\s*+".join(words)
    return re.search(rf"^[^\S\n]*{between}[^\S\n]*$", text, re.MULTILINE) is not None


def _words(line: str) -> list[str]:
    """Split at white space, but not within quotes if the line has only one kind of quotes."""
    lexer = shlex.shlex(line)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if "'" in line:
        lexer.quotes = '"'
    elif '"' in line:
        lexer.quotes = "'"
    try:
        return list(lexer)
    except ValueError:  # unclosed quotes
        return line.split()


def missing_lines(text: str, chunks: Iterable[str], *, ignore_whitespace: bool = True) -> list[str]:
    """Return the lines of the chunks that a text does not have; without ``ignore_whitespace`` each is a pattern."""
    return [
        line
        for chunk in chunks
        if not (has_lines(text, chunk) if ignore_whitespace else re.search(chunk, text, re.MULTILINE))
        for line in chunk.splitlines()
    ]


def missing_header(text: str, chunks: Iterable[str]) -> list[str]:
    """Return the lines of the chunks, [] if a text begins with them."""
    lines = [line for chunk in chunks for line in chunk.splitlines()]
    return [] if [line.rstrip("\r\n") for line in text.splitlines()[: len(lines)]] == lines else lines


def toggled(lines: Iterable[str], regex: str, char: str, *, comment: bool) -> list[tuple[str, str]]:
    """Return (line, new line) for each line: ``char`` is added or removed where it begins with a match of ``regex``."""
    end = "$" if regex.endswith("$") else ""
    core = regex.lstrip("^").rstrip("$")
    start = "^" if regex.startswith("^") else ""
    pattern = compiled(f"{start}({core}){end}" if comment else rf"^{re.escape(char)}\s*({core}){end}", 0)
    return [
        (line, line if not pattern.match(line) else f"{char}{line}" if comment else line.lstrip(char)) for line in lines
    ]


def toggle_patterns(regex: str, char: str, *, comment: bool) -> tuple[str, str, str]:
    """Return the patterns of lines to toggle and of lines already toggled, and ``regex`` without its anchors."""
    if comment:
        core = re.sub(r"^(\(\?[iLmsux]\))?\^?(.*?)\$?$", r"\2", regex)
        return rf"^(?!\s*{re.escape(char)})\s*{core}", re.escape(char) + core, core
    core = regex.lstrip("^")
    return f"{re.escape(char)}[ \t]*{core}", f"^[ \t]*{core}", core


def lines_of(text: str) -> list[str]:
    """Split at newlines and keep them."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def with_line(
    old: list[str],
    content: str | None,
    mode: str,
    *,
    match: Any = None,
    location: str | None = None,
    before: str | None = None,
    after: str | None = None,
    indent: bool = True,
) -> list[str]:
    """Return lines with one inserted, ensured, replaced or deleted.

    ``match``, ``before``, ``after`` are regular expressions or parts of a line. CommandExecutionError if the place is
    not unique, or the arguments are invalid.
    """
    body = list(old)
    if body and _eol(body[-1]):
        body.append("")
    if not old and mode in {"delete", "replace"}:
        body = []
    if not match and before is None and after is None:
        match = content
    found, above, below = _matching(body, match), _matching(body, after), _matching(body, before)
    return _ended(
        _edit(
            body,
            content or "",
            mode,
            found=found,
            above=above,
            below=below,
            location=location,
            indent=indent,
            asked=location is not None or not (before is after is None),
        )
    )


def _eol(text: str) -> str:
    found = _EOL.search(text)
    return found.group() if found else ""


def _ended(body: list[str]) -> list[str]:
    """Add the line ending of a neighbour to every line without one, except the last."""
    for index, text in enumerate(body[:-1]):
        if not _eol(text):
            body[index] = text.rstrip() + (_eol(body[index - 1 if index > 1 else 1]) or "\n")
    if body and not body[-1]:
        body.pop()
    return body


def _matching(lines: list[str], expression: Any) -> list[str] | None:
    """Return the lines that match an expression or contain it as text; None without lines or expression."""
    if not lines or not expression:
        return None
    try:
        pattern = re.compile(str(expression), re.DOTALL)
    except re.error as error:
        raise CommandExecutionError(f"{error}: '{expression}'") from error
    return [text for text in lines if pattern.search(text) or str(expression) in text]


def _only(found: list[str], which: str) -> None:
    if len(found) != 1:
        raise CommandExecutionError(
            f'Found {"more than" if found else "less than"} expected occurrences in "{which}" expression'
        )


def _indented(like: str, text: str, indent: bool) -> str:
    if not indent:
        return text
    return like[: len(like) - len(like.lstrip("\t "))] + text.lstrip()


def _same(one: str, other: str) -> bool:
    return one.rstrip("\r\n") == other.rstrip("\r\n")


def _edit(
    lines: list[str],
    text: str,
    mode: str,
    *,
    found: list[str] | None,
    above: list[str] | None,
    below: list[str] | None,
    location: str | None,
    indent: bool,
    asked: bool,
) -> list[str]:
    if mode == "delete":
        return [line for line in lines if line != found[0]] if found else lines
    if mode == "replace":
        if found:
            index = lines.index(found[0])
            lines[index] = _indented(lines[index], text, indent)
        return lines
    if mode == "insert":
        return _insert(lines, text, above, below, location=location, indent=indent, asked=asked)
    return _ensure(lines, text, above, below, indent)


def _insert(
    lines: list[str],
    text: str,
    above: list[str] | None,
    below: list[str] | None,
    *,
    location: str | None,
    indent: bool,
    asked: bool,
) -> list[str]:
    if not asked:
        raise CommandExecutionError('On insert either "location" or "before/after" conditions are required.')
    if location == "end":
        lines.append(_indented(lines[-1], text, indent) if lines else text)
    elif location == "start":
        lines.insert(0, text.rstrip() + ((_eol(lines[0]) if lines else "") or "\n"))
    elif location:
        return lines
    elif above and below:
        _only(below, "before")
        _only(above, "after")
        index = lines.index(below[0])
        lines.insert(index, _indented(lines[index], text, indent))
    elif above:
        _only(above, "after")
        index = lines.index(above[0])
        if index + 1 >= len(lines) or not _same(lines[index + 1], text):
            lines.insert(index + 1, _indented(lines[index], text, indent))
    elif below:
        _only(below, "before")
        index = lines.index(below[0])
        if not _same(lines[index - 1], text):
            lines.insert(index, _indented(lines[index], text, indent))
    else:
        raise CommandExecutionError("Neither before or after was found in file")
    return lines


def _ensure(lines: list[str], text: str, above: list[str] | None, below: list[str] | None, indent: bool) -> list[str]:
    if above and below:
        _only(above, "after")
        _only(below, "before")
        first, last = lines.index(above[0]), lines.index(below[0])
        if not any(present.lstrip() == text for present in lines):
            if first + 1 == last:
                lines.insert(last, _indented(lines[first], text, indent))
            elif first + 2 == last:
                lines[first + 1] = _indented(lines[first], text, indent)
            else:
                raise CommandExecutionError('Found more than one line between boundaries "before" and "after".')
    elif below:
        _only(below, "before")
        index = lines.index(below[0])
        if index == 0 or not _same(lines[index - 1], text):
            lines.insert(index, _indented(lines[index - 1], text, indent))
    elif above:
        _only(above, "after")
        index = lines.index(above[0])
        if index + 1 >= len(lines) or not _same(lines[index + 1], text):
            lines.insert(index + 1, _indented(lines[index], text, indent))
    else:
        raise CommandExecutionError(
            "Wrong conditions? Unable to ensure line without knowing where to put it before and/or after."
        )
    return lines


def with_block(
    old: list[str],
    marker_start: str,
    marker_end: str,
    content: str,
    *,
    append_newline: bool | None = False,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    insert_before_match: str | None = None,
    insert_after_match: str | None = None,
) -> list[str]:
    """Return lines with ``content`` between the markers; CommandExecutionError if nothing places a missing block."""
    newline = bool(append_newline) or (append_newline is None and not content.endswith("\n"))
    block = _Block(marker_start, marker_end, content.replace("\r\n", "\n").split("\n"), newline, old)
    new = block.replaced(old)
    if new is not None:
        return new
    if prepend_if_not_found:
        return [*block.lines(), *old]
    if append_if_not_found:
        ended = [*old[:-1], old[-1] if old[-1].endswith(block.linesep) else old[-1] + block.linesep] if old else []
        return [*ended, *block.lines()]
    if insert_before_match or insert_after_match:
        return _inserted(old, block.lines(), insert_before_match, insert_after_match)
    raise CommandExecutionError(_MISSING)


class _Block:
    """The wanted lines, with the line ending of the file."""

    def __init__(self, start: str, end: str, content: list[str], newline: bool, old: list[str]) -> None:
        self.start = start
        self.end = end
        self.content = content
        self.newline = newline
        self.linesep = line_end(old[0] if old else "")

    def lines(self) -> list[str]:
        """Return the whole block, with its markers."""
        return [self.start + self.linesep, *self._body(self.end)]

    def _body(self, end: str) -> list[str]:
        end = end.rstrip("\r\n") + self.linesep
        body = [line + self.linesep for line in self.content[:-1]]
        last = self.content[-1]
        return [*body, last + self.linesep, end] if self.newline else [*body, last + end]

    def replaced(self, old: list[str]) -> list[str] | None:
        """Return the lines with every marked block replaced; None if there is none."""
        new: list[str] = []
        inside = found = False
        for line in old:
            if self.start in line:
                inside = True
                new.append(line)
            elif not inside:
                new.append(line)
            elif self.end in line:
                inside, found = False, True
                new.extend(self._body(line[line.index(self.end) :]))
        if inside:
            raise CommandExecutionError("Unterminated marked block. End of file reached before marker_end.")
        return new if found else None


def _inserted(old: list[str], block: list[str], before: str | None, after: str | None) -> list[str]:
    pattern = re.compile(before or after or "")
    index = next((index for index, line in enumerate(old) if pattern.search(line)), None)
    if index is None:
        raise CommandExecutionError(_MISSING)
    place = index if before else index + 1
    return [*old[:place], *block, *old[place:]]
