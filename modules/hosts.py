"""The ``hosts`` execution module: the static host table, /etc/hosts or the option ``hosts.file``.

Only the lines that concern the given address change; comments and order stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.values import BLANKS_OF_C as _BLANKS
from asyncstate.data.values import fields_of as _fields_of
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import Editing, __salt__, editing
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable


class _Line(NamedTuple):
    """One line: an entry with an ``ip``, or something else with none."""

    raw: str
    ip: str = ""
    aliases: tuple[str, ...] = ()
    comment: str = ""


def list_hosts() -> dict[str, Any]:
    """Return ``{ip: {"aliases": […], "comment": …}}``; comment lines are under ``comment-0`` and so on."""
    found: dict[str, Any] = {}
    comments = 0
    for line in _lines():
        if line.ip:
            entry = found.setdefault(line.ip, {})
            entry.setdefault("aliases", []).extend(line.aliases)
            if line.comment:
                entry["comment"] = line.comment
        elif line.raw.strip():
            found[f"comment-{comments}"] = [line.raw.strip()]
            comments += 1
    return found


def get_ip(host: str) -> str:
    """Return the first address of a name, "" without one."""
    return next((line.ip for line in _lines() if host in line.aliases), "")


def get_alias(ip: str) -> list[str]:
    """Return the names of an address."""
    return [alias for line in _lines() if line.ip == ip for alias in line.aliases]


def has_pair(ip: str, alias: str | list[str]) -> bool:
    """Return whether an address has a name, or all of several: a list, or a text with blanks between them."""
    names = [name for each in (alias if isinstance(alias, list) else [alias]) for name in _names(each)]
    return set(names) <= set(get_alias(ip))


def set_host(ip: str, alias: str, comment: str | None = None) -> bool:
    """Give an address one line with exactly these names; without names, remove its lines."""

    def change(lines: list[_Line], edit: Editing) -> list[_Line]:
        new = [_entry(ip, alias, comment or "")] if alias.strip() else []
        places = [index for index, line in enumerate(lines) if line.ip == ip]
        if not places:
            return _with(lines, new, edit)
        kept = [line for line in lines if line.ip != ip]
        return [*kept[: places[0]], *new, *kept[places[0] :]]

    return _edit(change)


def add_host(ip: str, alias: str) -> bool:
    """Add a name to an address, or several with blanks between them."""

    def change(lines: list[_Line], edit: Editing) -> list[_Line]:
        if has_pair(ip, alias):
            return lines
        for index, line in enumerate(lines):
            if line.ip == ip:
                new = [name for name in _names(alias) if name not in line.aliases]
                more = _entry(ip, " ".join((*line.aliases, *new)), line.comment)
                return [*lines[:index], more, *lines[index + 1 :]]
        return _with(lines, [_entry(ip, alias, "")], edit)

    return _edit(change)


def rm_host(ip: str, alias: str) -> bool:
    """Remove a name from an address, or several with blanks between them; a line without names is removed."""
    gone = _names(alias)

    def change(lines: list[_Line], _: Editing) -> list[_Line]:
        changed = []
        for line in lines:
            rest = [name for name in line.aliases if name not in gone]
            if line.ip != ip or len(rest) == len(line.aliases):
                changed.append(line)
                continue
            if rest:
                changed.append(_entry(ip, " ".join(rest), line.comment))
        return changed

    return _edit(change)


def set_comment(ip: str, comment: str) -> bool:
    """Put a comment on the line of an address, which must exist."""

    def change(lines: list[_Line], _: Editing) -> list[_Line]:
        return [_entry(ip, " ".join(line.aliases), comment) if line.ip == ip else line for line in lines]

    return bool(get_alias(ip)) and _edit(change)


def unfit(ip: str, alias: str, comment: str = "") -> str:
    """Return the reason why a line cannot give an address these names and this comment, "" if it can."""
    line = _line(ip, alias, comment)
    if problem := _unfit(f"an entry of {_path()}", (line.raw,)):
        return problem
    return "" if line.aliases and _parsed(line.raw) == line else f"{line.raw!r} is no entry of {_path()}"


def _names(alias: str) -> list[str]:
    return _fields_of(str(alias), _BLANKS) or [alias]


def _entry(ip: str, alias: str, comment: str) -> _Line:
    if problem := unfit(ip, alias, comment):
        raise CommandExecutionError(problem)
    return _line(ip, alias, comment)


def _line(ip: str, alias: str, comment: str) -> _Line:
    text, comment = f"{ip}\t\t{alias}", comment.strip()
    return _Line(f"{text}\t\t# {comment}" if comment else text, ip, tuple(_fields_of(alias, _BLANKS)), comment)


def _path() -> str:
    return str(__salt__["config.option"]("hosts.file") or "/etc/hosts")


def _lines() -> list[_Line]:
    try:
        return [_parsed(raw) for raw in filesystem.read_lines(_path())]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {_path()}: {error.strerror}") from error


def _parsed(raw: str) -> _Line:
    entry, _, comment = raw.partition("#")
    words = _fields_of(entry, _BLANKS)
    return _Line(raw, words[0], tuple(words[1:]), comment.strip()) if words else _Line(raw)


def _with(lines: list[_Line], new: list[_Line], edit: Editing) -> list[_Line]:
    """Return the lines with the first lines of new addresses, each at its place in serial order."""
    lines = list(lines)
    for line in new:
        lines.insert(edit.place((each.ip or None for each in lines), line.ip), line)
    return lines


def _edit(change: Callable[[list[_Line], Editing], list[_Line]]) -> bool:
    with editing(_path()) as edit:
        lines = _lines()
        changed = change(lines, edit)
        if changed != lines:
            try:
                filesystem.replace_text(_path(), "".join(f"{line.raw}\n" for line in changed))
            except OSError as error:
                raise CommandExecutionError(f"Cannot write {_path()}: {error.strerror}") from error
    return True
