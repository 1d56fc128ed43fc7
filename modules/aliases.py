"""The ``aliases`` execution module: mail aliases, in /etc/aliases or the file of the option ``aliases.file``."""

from __future__ import annotations

import re
import shutil
from typing import Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import __salt__, editing
from asyncstate.errors import CommandExecutionError, InvocationError

_ENTRY = re.compile(r"([^:#]*)\s*:?\s*([^#]*?)(\s+#.*|$)")


class _Line(NamedTuple):
    """One line: an alias with its target, or any other line, in ``comment``."""

    alias: str
    target: str
    comment: str

    def __str__(self) -> str:
        text = f"{self.alias}: {self.target}{self.comment}" if self.alias and self.target else self.comment
        return f"{text}\n"


def list_aliases() -> dict[str, str]:
    """Return ``{alias: target}``; the last line of an alias counts."""
    return {line.alias: line.target for line in _lines() if line.alias}


def get_target(alias: str) -> str:
    """Return where mail for an alias goes, "" for an unknown one."""
    return list_aliases().get(alias, "")


def has_target(alias: str, target: Any) -> bool:
    """Return whether an alias has exactly this target, or these. InvocationError for what no line can say."""
    return list_aliases().get(alias) == _line(alias, target).target


def set_target(alias: str, target: Any) -> bool:
    """Set the target or targets of an alias; other lines of it are removed. InvocationError as for `has_target`."""
    new = _line(alias, target)
    with editing(_path()) as edit:
        lines = _lines()
        places = [index for index, line in enumerate(lines) if line.alias == alias]
        if places and lines[places[-1]].target == new.target:
            return True
        rest = [line for line in lines if line.alias != alias]
        first = places[0] if places else edit.place((line.alias or None for line in lines), alias)
        comment = lines[first].comment if places else ""
        _write([*rest[:first], new._replace(comment=comment), *rest[first:]])
    return True


def rm_alias(alias: str) -> bool:
    """Remove an alias."""
    with editing(_path()):
        lines = _lines()
        rest = [line for line in lines if line.alias != alias]
        if len(rest) < len(lines):
            _write(rest)
    return True


def _line(alias: str, target: Any) -> _Line:
    text = (", ".join(map(str, target)) if isinstance(target, list) else str(target)).strip()
    if not alias and filesystem.judges():
        raise InvocationError("alias can not be an empty string")
    if not text:
        raise InvocationError("target can not be an empty string")
    line = _Line(alias, text, "")
    if problem := _unfit("an alias", (alias, text)):
        raise InvocationError(problem)
    if _parsed(f"{alias}: {line.target}") != line:
        raise InvocationError(f"{alias}: {text} is no line of {_path()}")
    return line


def _path() -> str:
    return filesystem.resolved(str(__salt__["config.option"]("aliases.file") or "/etc/aliases"))


def _lines() -> list[_Line]:
    try:
        return [_parsed(line) for line in filesystem.read_lines(_path())]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {_path()}: {error.strerror}") from error


def _parsed(line: str) -> _Line:
    """Split a line at its colon and its comment; continuation lines are kept unchanged."""
    found = _ENTRY.match(line)
    return _Line(*found.groups()) if found and not line[:1].isspace() else _Line("", "", line)


def _write(lines: list[_Line]) -> None:
    path = _path()
    try:
        filesystem.replace_content(path, "".join(map(str, lines)).encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error
    if shutil.which("newaliases"):
        __salt__["cmd.run"](["newaliases"], python_shell=False)
