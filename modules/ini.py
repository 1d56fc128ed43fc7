"""The ``ini`` execution module: options in sections of a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Editing, editing
from asyncstate.errors import CommandExecutionError

from . import _ini_document as document

if TYPE_CHECKING:
    from collections.abc import Callable


def get_ini(file_name: str, separator: str = "=", encoding: str | None = None) -> dict[str, Any]:
    """Return options and sections of a file, {} without a file."""
    return document.parse(_read(file_name, encoding) or "", separator).plain()


def get_section(file_name: str, section: str, separator: str = "=", encoding: str | None = None) -> dict[str, Any]:
    """Return the options of a section, {} without it."""
    found = get_ini(file_name, separator, encoding).get(section)
    return found if isinstance(found, dict) else {}


def get_option(
    file_name: str, section: str | None, option: str, separator: str = "=", encoding: str | None = None
) -> Any:
    """Return the value of an option, outside any section if ``section`` is empty; None without it."""
    known = get_section(file_name, section, separator, encoding) if section else get_ini(file_name, separator, encoding)
    return known.get(option)


def set_option(
    file_name: str,
    sections: dict[str, Any] | None = None,
    separator: str = "=",
    encoding: str | None = None,
    no_spaces: bool = False,
) -> dict[str, Any]:
    """Set options, ``{section: {option: value}}``, or ``{option: value}`` for those in no section.

    Returns ``before`` and ``after`` of the changed options. The file is rewritten with uniform blanks around
    separators, or with ``no_spaces`` none. CommandExecutionError for data that would be read as another option or
    section: a name of several lines, or a value whose further lines are not indented or look like a section; for a
    value in place of a section's options; and for a section in a section. Names are text: 1 is ``"1"``.
    """
    wanted = sections or {}

    def merge(whole: document.Section, edit: Editing) -> dict[str, Any]:
        require_fit(wanted, whole)
        return whole.merge(wanted, edit.place)

    changes: dict[str, Any] = _edit(file_name, merge, separator, encoding, tight=no_spaces)
    return changes


def require_fit(sections: dict[str, Any], known: dict[str, Any]) -> None:
    """Raise the CommandExecutionError that `set_option` would for a file with these options and sections."""
    document.require_fit(sections, known)


def remove_option(
    file_name: str, section: str | None, option: str, separator: str = "=", encoding: str | None = None
) -> Any:
    """Remove an option, outside any section if there is no such section; return its value, None without it.

    As in Salt, a missing file is made, an empty one.
    """

    def remove(whole: document.Section, _: Editing) -> Any:
        place = whole.get(section) if section else None
        if section and not isinstance(place, document.Section) and isinstance(whole.get(option), document.Section):
            return None  # another section is no option of the one that is missing
        return (place if isinstance(place, document.Section) else whole).pop(option, None)

    return _edit(file_name, remove, separator, encoding, unless_none=True, make=True)


def remove_section(file_name: str, section: str, separator: str = "=", encoding: str | None = None) -> Any:
    """Remove a section; return its options, None without it."""

    def remove(whole: document.Section, _: Editing) -> Any:
        if not isinstance(whole.get(section), document.Section):
            return None
        return whole.pop(section).plain()

    return _edit(file_name, remove, separator, encoding, unless_none=True)


def _edit(
    path: str,
    change: Callable[[document.Section, Editing], Any],
    separator: str,
    encoding: str | None,
    *,
    tight: bool = False,
    unless_none: bool = False,
    make: bool = False,
) -> Any:
    """Return the result of ``change``; with ``unless_none`` the file is not written if that is None.

    A missing file for which there is nothing to write is made only with ``make``.
    """
    with editing(path) as edit:
        old = _read(path, encoding)
        whole = document.parse(old or "", separator, tight=tight)
        done = change(whole, edit)
        new = document.text_of(whole)
        changed = new != (old or "") and not (unless_none and done is None)
        if changed or (make and old is None):
            _write(path, new, encoding)
        return done


def _read(path: str, encoding: str | None) -> str | None:
    try:
        with (
            filesystem.open_read(path) as file,
            io.TextIOWrapper(file, encoding or "utf-8", errors=None if encoding else "surrogateescape") as text,
        ):
            return text.read()
    except FileNotFoundError:
        _require_encoding(encoding)
        return None
    except (OSError, LookupError, UnicodeError) as error:
        raise CommandExecutionError(f"Unable to open file '{path}'. Exception: {error}") from error


def _require_encoding(encoding: str | None) -> None:
    """Refuse an unknown encoding before there is a text to write."""
    try:
        "".encode(encoding or "utf-8")
    except LookupError as error:
        raise CommandExecutionError(str(error)) from error


def _write(path: str, text: str, encoding: str | None) -> None:
    try:
        data = text.encode(encoding) if encoding else text.encode("utf-8", "surrogateescape")
        filesystem.edit_content(filesystem.resolved(path), data)
    except UnicodeError as error:
        raise CommandExecutionError(f"Unable to write file '{path}'. Exception: {error}") from error
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}: '{path}'"
        raise CommandExecutionError(f"Unable to write file '{path}'. Exception: {reason}") from error
