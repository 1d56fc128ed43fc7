"""An editable INI file: sections and options in order, with all lines between them.

Comments and lines that are no options are kept as options whose names begin with ``#``. Writing makes the blanks
around separators uniform; an option takes the place of its commented-out line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEADER = re.compile(r"^[^\S\n]*\[(.+?)\]\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(#|;)")
_INDENT = re.compile(r"\s+")
_COMMENT_NAME = "#comment"

Place = Callable[[Iterable[str | None], str], int]


class Section(dict[str, Any]):
    """Options by name, and in the document itself also sections. Values are text."""

    def __init__(self, separator: str, *, tight: bool = False) -> None:
        super().__init__()
        self._separator = separator
        self._tight = tight

    def read(self, text: str) -> None:
        """Read the lines of a section. A line with more indentation than its option belongs to the value."""
        text = text.strip("\n")
        comments = unknown = 0
        indent = ""
        for line in text.split("\n") if text else []:
            if _COMMENT.match(line):
                comments += 1
                self[f"{_COMMENT_NAME}{comments}"] = line
                continue
            deeper = _INDENT.match(line)
            if deeper and deeper[0].replace("\t", "    ") > indent and self:
                last = next(reversed(self))
                self[last] = f"{self[last]}\n{line}"
                continue
            option = self._option(line)
            if option:
                indent = option[0].replace("\t", "    ")
                self[option[1]] = option[2]
                continue
            unknown += 1
            self[f"#unknown{unknown}"] = line
        self._drop_blank_end()

    def _drop_blank_end(self) -> None:
        """Drop blank lines left at the end by a repeated option, whose first place counts."""
        while self:
            last = next(reversed(self))
            above, line_break, line = self[last].rpartition("\n")
            if line_break and not line.strip():
                self[last] = above
            elif last.startswith("#unknown") and not line.strip():
                del self[last]
            else:
                return

    def _option(self, line: str) -> tuple[str, str, str] | None:
        """Return indentation, name and value of a line, None if it sets nothing."""
        text = line.lstrip()
        place = text.find(self._separator, 1)
        if not text or place < 0:
            return None
        return line[: len(line) - len(text)], text[:place].rstrip(), text[place + len(self._separator) :].lstrip()

    def merge(self, wanted: Mapping[str, Any], place: Place | None = None) -> dict[str, Any]:
        """Set options, also in sections; return ``before`` and ``after`` of the changed ones.

        ``place`` returns the index for a new option or section, given the names at that level, with None for other
        lines, and its own name; by default it goes to the end.
        """
        changes: dict[str, Any] = {}
        for name, value in ((str(name), value) for name, value in wanted.items()):
            old = self.get(name)
            if isinstance(value, dict):
                if isinstance(old, Section):
                    inner = old.merge(value)
                else:
                    new = Section(self._separator, tight=self._tight)
                    new.merge(value)
                    self._add(name, new, place)
                    inner = {"before": old, "after": dict(new)}
                if inner:
                    changes[name] = inner
            elif old != str(value):
                changes[name] = {"before": old, "after": str(value)}
                if name not in self and not self._take_place(name):
                    self._add(name, str(value), place)
                self[name] = str(value)
        return changes

    def _add(self, name: str, value: Any, place: Place | None) -> None:
        """Insert a new option or section at its level; one of the other kind with the same name is removed."""
        self.pop(name, None)
        items = list(self.items())
        if place is not None:
            kind = isinstance(value, Section)
            alike = (
                None if key.startswith("#") or isinstance(each, Section) is not kind else key for key, each in items
            )
            items.insert(place(alike, name), (name, value))
            self.clear()
            self.update(items)
        else:
            self[name] = value

    def _take_place(self, name: str) -> bool:
        """Put a new option in place of its commented-out line; return whether there is one."""
        for key in [key for key in self if key.startswith(_COMMENT_NAME)]:
            option = self._option(self[key].lstrip("#"))
            if option and option[1] == name:
                items = [(name, "") if each == key else (each, value) for each, value in self.items()]
                self.clear()
                self.update(items)
                return True
        return False

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file: options before sections."""
        inner = []
        separator = self._separator.strip()
        separator = (separator if self._tight else f" {separator} ") if separator else " "
        for name, value in self.items():
            if isinstance(value, Section):
                inner.append((name, value))
            else:
                yield value if name.startswith(("#", ";")) else f"{name}{separator}{value}"
        for name, section in inner:
            yield ""
            yield f"[{name}]"
            yield from section.lines()

    def plain(self) -> dict[str, Any]:
        """Return options and sections without comments."""
        return {
            name: value.plain() if isinstance(value, Section) else value
            for name, value in self.items()
            if not name.startswith("#")
        }


def parse(text: str, separator: str, *, tight: bool = False) -> Section:
    """Return the document of a text; ``tight`` will write no blanks around separators."""
    document = Section(separator, tight=tight)
    top, *rest = _HEADER.split("\n".join(text.splitlines()))
    names, bodies = rest[::2], [top, *rest[1::2]]
    bodies = list(map(_without_blank_end, bodies))
    document.read(bodies[0])
    for name, body in zip(names, bodies[1:], strict=True):
        section = Section(separator)
        section.read(body)
        document.merge({name: section})
    if len(set(names)) < len(names):  # the lines of a repeated section may have another meaning at its first place
        return parse(text_of(document), separator, tight=tight)
    return document


def require_fit(wanted: Mapping[Any, Any], known: Mapping[str, Any]) -> None:
    """Raise CommandExecutionError for data that would be read as other options or sections, or replace a section.

    ``known`` are the options and sections that there are.
    """
    for name, value in ((str(name), value) for name, value in wanted.items()):
        if len(name.splitlines()) > 1 or name.endswith("\n"):
            raise CommandExecutionError(f"{name!r}: the name of an option or section is one line")
        if isinstance(value, dict):
            inner = next((option for option, each in value.items() if isinstance(each, dict)), None)
            if inner is not None:
                raise CommandExecutionError(f"{inner} of section {name} is a mapping: a section has no sections")
            require_fit(value, {})
            continue
        if isinstance(known.get(name), dict):
            raise CommandExecutionError(f"{name} is a section, and {value!r} is no mapping of options")
        for line in str(value).splitlines()[1:]:
            if line.strip() and (not line[0].isspace() or _HEADER.match(line)):
                raise CommandExecutionError(
                    f"{name}: the line {line!r} would be an option or section of its own. Indent the lines of a value"
                    " after the first one."
                )


def _without_blank_end(body: str) -> str:
    """Return the text of a section without blank lines at the end, at any place in the file."""
    text = body.rstrip()
    end = body.find("\n", len(text))
    return text and (body if end < 0 else body[: end + 1])


def text_of(document: Section) -> str:
    """Return the text of a document."""
    return "".join(f"{line}\n" for line in document.lines()).lstrip("\n")
