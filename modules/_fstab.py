"""The lines of fstab(5): finding the lines of a mount, and changing them in one step."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.mounts import field
from asyncstate.data.values import fields_of
from asyncstate.dunders.entries import FOUND_BY_POINT
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEYS = ("device", "name", "fstype", "opts", "dump", "pass_num")

_changing = threading.Lock()


def parse(line: str) -> dict[str, str] | None:
    """Return the fields of a line by `KEYS`, None for a comment or another line that is no entry."""
    words = fields_of(line)
    if not 4 <= len(words) <= len(KEYS) or words[0].startswith("#"):
        return None
    return dict(zip(KEYS, [*words, "0", "0"], strict=False))


def entries(config: str) -> dict[str, Any]:
    """Return the entries of a file by mount point, a repeated one with ``_`` added; {} without a file."""
    found: dict[str, Any] = {}
    for fields in _parsed(config):
        name = fields.pop("name")
        while name in found:
            name += "_"
        found[name] = {**fields, "opts": fields["opts"].split(","), "pass": fields.pop("pass_num")}
        del found[name]["pass_num"]
    return found


def has(config: str, wanted: dict[str, str]) -> bool:
    """Return whether an entry has all the fields ``wanted``."""
    return any(_agree(fields, wanted, wanted) for fields in _parsed(config))


def put(config: str, entry: dict[str, str], match_on: list[str], *, test: bool, keep: bool) -> str:
    """Put ``entry`` into the file; return "new", "change" or "present".

    An entry that agrees with it in all fields of ``match_on`` is replaced, unless ``keep`` leaves it as it is.
    """
    if not filesystem.is_file(config):
        raise CommandExecutionError(f'Bad config file "{config}"')
    status = "new"

    def change(line: str) -> str | None:
        nonlocal status
        fields = parse(line)
        if fields is None or not _agree(fields, entry, match_on):
            return line
        if keep or _agree(fields, entry, KEYS):
            status = "present" if status == "new" else status
            return line
        status = "change"
        return text_of(entry)

    with _changing:
        lines = _changed(config, change)
        if status == "new":
            if lines and not lines[-1].endswith("\n"):
                lines[-1] += "\n"
            lines.append(text_of(entry))
        if status != "present" and not test:
            _write(config, lines)
    return status


def drop(config: str, name: str, device: str | None) -> None:
    """Remove the entries of mount point ``name``, and of ``device`` if given."""
    wanted = {"name": name, **({"device": device} if device is not None else {})}

    def change(line: str) -> str | None:
        fields = parse(line)
        return None if fields is not None and _agree(fields, wanted, wanted) else line

    with _changing:
        before = _lines(config)
        lines = _changed(config, change)
        if len(lines) < len(before):
            _write(config, lines)


def criteria(match_on: Any, fstype: str) -> list[str]:
    """Return the fields that identify an entry; ``auto`` is the mount point or the device, depending on the type."""
    if match_on == "auto":
        return ["name"] if fstype in FOUND_BY_POINT else ["device"]
    if not isinstance(match_on, (str, list)):
        raise CommandExecutionError("match_on must be a string or list of strings")
    keys = [match_on] if isinstance(match_on, str) else match_on
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise CommandExecutionError(
            f'Unrecognized keys in match_on: "{", ".join(map(str, unknown))}"; there are {", ".join(KEYS)}'
        )
    return keys


def text_of(entry: dict[str, str]) -> str:
    """Return the line of an entry."""
    return "{device}\t\t{name}\t{fstype}\t{opts}\t{dump} {pass_num}\n".format(**entry)


def _agree(fields: dict[str, str], wanted: dict[str, str], keys: Any) -> bool:
    return all(_comparable(key, fields[key]) == _comparable(key, wanted[key]) for key in keys)


def _comparable(key: str, value: str) -> Any:
    return sorted(field(value).split(",")) if key == "opts" else field(value)


def _parsed(config: str) -> Iterator[dict[str, str]]:
    return filter(None, map(parse, _lines(config) if filesystem.is_file(config) else []))


def _lines(config: str) -> list[str]:
    try:
        with filesystem.open_text(config, errors="surrogateescape") as file:
            return file.readlines()
    except OSError as error:
        raise CommandExecutionError(f"Couldn't read from {config}: {error}") from error


def _changed(config: str, change: Callable[[str], str | None]) -> list[str]:
    return [line for line in map(change, _lines(config)) if line is not None]


def _write(config: str, lines: list[str]) -> None:
    try:
        filesystem.replace_content(filesystem.resolved(config), "".join(lines).encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"File not writable {config}: {error.strerror}") from error
