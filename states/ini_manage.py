"""The ``ini`` states: options in sections of a file, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import (
    Row,
    __salt__,
    changed,
    entry_of,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)

from ._ini_names import touched as _touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__virtualname__ = "ini"

_UNSET = object()


def __virtual__() -> Any:
    if "ini.set_option" in __salt__:
        return True
    return False, "ini module could not be loaded"


def options_present(
    name: str,
    sections: dict[str, Any] | None = None,
    separator: str = "=",
    strict: bool = False,
    encoding: str | None = None,
    no_spaces: bool = False,
) -> Row:
    """Make sure that the file ``name`` has these options, and with ``strict`` no others.

    ``sections`` is ``{section: {option: value}}``; an option outside any section stands beside the sections. A section
    has no sections of its own. A missing file is made. ``no_spaces`` writes no blanks around separators, not even those
    of the other options. ::

        /etc/app.ini:
          ini.options_present:
            - sections:
                server:
                  port: 8080
    """
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    file = {"file_name": name, "separator": separator, "encoding": encoding}
    wanted = dict(_flat(sections or {}))
    current = __salt__["ini.get_ini"](**file)
    __salt__["ini.require_fit"](wanted, current)
    if is_dry_run():
        steps = [*(_surplus_steps(wanted, current) if strict and wanted else []), *_steps(wanted, current)]
        if filesystem.foretells():
            empty = [section for section, options in wanted.items() if options == {}]
            steps += [f"Added section {section}." for section in empty if not isinstance(current.get(section), dict)]
        needed = any(not step.startswith("Unchanged") for step in steps)
        row = make_row(name, "".join(f"{step}\n" for step in steps), result=None if needed else True)
        return (needed and _unwritable(name)) or row
    changes = _remove_surplus(file, wanted, current) if strict and wanted else {}
    done = __salt__["ini.set_option"](sections=wanted, no_spaces=no_spaces, **file)
    for key, change in done.items():
        is_new = isinstance(wanted[key], dict) and "before" in change and isinstance(change.get("after"), dict)
        changes[key] = change if is_new or key not in changes else {**changes[key], **change}
    return _row(name, {key: change for key, change in changes.items() if change})


def options_absent(
    name: str, sections: dict[str, Any] | None = None, separator: str = "=", encoding: str | None = None
) -> Row:
    """Make sure that the file ``name`` does not have these options: ``{section: [option, …]}``.

    A text counts as a list of one. ``{"": [option, …]}`` are options outside any section. As in Salt, a file that is
    missing is made, an empty one, and options that are no list have one value in the changes. ::

        /etc/app.ini:
          ini.options_absent:
            - sections:
                server:
                  - port
    """
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    file = {"file_name": name, "separator": separator, "encoding": encoding}
    current = __salt__["ini.get_ini"](**file)
    sections = _named(sections or {})
    for section, options in sections.items():
        if not isinstance(options, (str, list, tuple, dict)) and isinstance(current.get(section), dict):
            return failed(name, f"{section} is a section, and {options!r} is no list of options")
    if is_dry_run():
        if sections and filesystem.foretells() and not os.path.exists(name):
            return _unwritable(name) or would_change(name, "An empty file is set to be made.")
        steps, needed = [], False
        for section, option in _options(sections):
            there = __salt__["ini.get_option"](section=section, option=option, **file) is not None
            what = f"key {option}{_in(section)}"
            steps.append(f"Deleted {what}.\n" if there else f"Key {what[4:]} does not exist.\n")
            needed = needed or there
        return _dry_run_row(name, steps, needed=needed)
    changes: dict[str, Any] = {}
    for section, option in _options(sections):
        value = __salt__["ini.remove_option"](section=section, option=option, **file)
        if value is None:
            continue
        if isinstance(sections.get(section), (str, dict)):
            changes[section] = value
        else:
            changes.setdefault(section, {})[option] = value
    return _row(name, changes)


def sections_present(
    name: str, sections: list[str] | dict[str, Any] | None = None, separator: str = "=", encoding: str | None = None
) -> Row:
    """Make sure that the file ``name`` has these sections, empty if they are new.

    ::

        /etc/app.ini:
          ini.sections_present:
            - sections:
              - server
    """
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    file = {"file_name": name, "separator": separator, "encoding": encoding}
    known = __salt__["ini.get_ini"](**file)
    sections = list(map(str, sections or []))
    new = [section for section in sections if section not in known]
    if is_dry_run():
        steps = [f"{'Created new section' if each in new else 'Section unchanged'} {each}.\n" for each in sections]
        return _dry_run_row(name, steps, needed=bool(new))
    if not new:
        return _row(name, {})
    return _row(name, __salt__["ini.set_option"](sections={section: {} for section in new}, **file))


def sections_absent(
    name: str, sections: list[str] | dict[str, Any] | None = None, separator: str = "=", encoding: str | None = None
) -> Row:
    """Make sure that the file ``name`` does not have these sections with their options.

    ::

        /etc/app.ini:
          ini.sections_absent:
            - sections:
              - server
    """
    if not os.path.isabs(name):
        return failed(name, f"Specified file {name} is not an absolute path")
    file = {"file_name": name, "separator": separator, "encoding": encoding}
    sections = list(map(str, sections or []))
    if filesystem.judges():
        __salt__["ini.get_ini"](**file)  # refuses unreadable files
    if is_dry_run():
        known = __salt__["ini.get_ini"](**file)
        gone = [
            section
            for section in sections
            if section in known and (isinstance(known[section], dict) or not filesystem.foretells())  # not an option
        ]
        steps = [
            f"Deleted section {each}.\n" if each in gone else f"Section {each} does not exist.\n" for each in sections
        ]
        return _dry_run_row(name, steps, needed=bool(gone))
    changes: dict[str, Any] = {}
    for section in sections:
        options = __salt__["ini.remove_section"](section=section, **file)
        if options is not None:
            changes[section] = options
    return _row(name, changes)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of an ini state: the file's folder; its sections, and its options in no section.

    A section is one entry, because the state that makes it reports it. Arguments other than ``sections``, and unusual
    names and values, may affect the whole file. The text left by a removed option depends on the next write of the
    file.
    """
    path = os.path.normpath(str(low.get("name", "")))
    file = f"path:{path}"
    plain = not any(low.get(key) for key in ("strict", "no_spaces", "encoding")) and low.get("separator") in (None, "=")
    entries = _touched(low.get("sections")) if plain and low.get("fun") != "options_absent" else []
    return {
        "reads": [f"path:{os.path.dirname(path)}"],
        "writes": [entry_of(file, name) for name in entries] or [file],
    }


def _row(name: str, changes: dict[str, Any]) -> Row:
    return changed(name, "Changes take effect", changes) if changes else unchanged(name, "No anomaly detected")


def _dry_run_row(name: str, steps: list[str], *, needed: bool) -> Row:
    row = make_row(name, "".join(steps) or "No changes detected.", result=None if needed else True)
    return (needed and _unwritable(name)) or row


def _unwritable(name: str) -> Row | None:
    """Return the row of a dry run with a forecast if the file cannot be written, None if it can."""
    try:
        if filesystem.room_for(name, follow=True):
            return None
        reason = f"its folder {os.path.dirname(name)} does not exist"
    except OSError as error:
        reason = str(error)
    return failed(name, f"Unable to write file '{name}'. Exception: {reason}")


def _named(entries: Mapping[Any, Any]) -> dict[str, Any]:
    """Return entries with names as the file has them, as text: YAML makes a number of ``1``. Null is no name."""
    return {"" if name is None else str(name): value for name, value in entries.items()}


def _flat(sections: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield options outside any section first, then the sections; a section without a name counts as no section."""
    named = _named(sections)
    for name, value in named.items():
        if not isinstance(value, dict):
            yield name, value
        elif not name:
            yield from _named(value).items()
    yield from ((name, _named(value)) for name, value in named.items() if name and isinstance(value, dict))


def _steps(wanted: dict[str, Any], current: dict[str, Any], section: str = "") -> Iterator[str]:
    for name, value in wanted.items():
        if isinstance(value, dict):
            known = current.get(name)
            yield from _steps(value, known if isinstance(known, dict) else {}, name)
        else:
            verb = "Unchanged" if str(value) == str(current.get(name, _UNSET)) else "Changed"
            yield f"{verb} key {name}{_in(section)}."


def _surplus_steps(wanted: dict[str, Any], current: dict[str, Any]) -> Iterator[str]:
    for name, value in current.items():
        if name not in wanted:
            yield f"Removed {'section' if isinstance(value, dict) else 'key'} {name}."
    for section, option in _surplus(wanted, current):
        yield f"Deleted key {option}{_in(section)}."


def _remove_surplus(file: dict[str, Any], wanted: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, value in current.items():
        if name in wanted:
            continue
        if isinstance(value, dict):
            __salt__["ini.remove_section"](section=name, **file)
        else:
            __salt__["ini.remove_option"](section=None, option=name, **file)
        changes[name] = {"before": value, "after": None}
    for section, option in _surplus(wanted, current):
        __salt__["ini.remove_option"](section=section, option=option, **file)
        changes.setdefault(section, {})[option] = {"before": current[section][option], "after": None}
    return changes


def _surplus(wanted: dict[str, Any], current: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for section, options in wanted.items():
        known = current.get(section)
        if isinstance(options, dict) and isinstance(known, dict):
            yield from ((section, option) for option in known if option not in options)


def _options(sections: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section, options in sections.items():
        if isinstance(options, (list, tuple, dict)):
            yield from ((section, str(option)) for option in options)
        elif isinstance(options, str):
            yield section, options
        else:
            yield "", section


def _in(section: str) -> str:
    return f" in section {section}" if section else ""
