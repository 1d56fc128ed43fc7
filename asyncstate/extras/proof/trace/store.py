"""Keeps the table of learned effects in the state directory: one file, private, replaced as a whole."""

from __future__ import annotations

import hashlib
import os

import msgspec

from asyncstate import filesystem
from asyncstate.errors import AsyncStateError, ConfigError
from asyncstate.extras.proof.trace.learned import Record, Table
from asyncstate.model.encode import encoded

LIMIT = 1 << 26
"""Bytes of the file, at most."""
_NAME = "footprints.json"
_DIGESTED = 1 << 20
"""The size in bytes above which size and modification time of a file count in place of its content."""


def path_in(state_dir: str) -> str:
    """Return the path of the table."""
    return os.path.join(state_dir, _NAME)


def load(state_dir: str) -> Table:
    """Return the table; an empty one if there is none. Raises ConfigError, which names the file, for an invalid one."""
    path = path_in(state_dir)
    try:
        table = msgspec.json.decode(filesystem.read_bytes(path, LIMIT), type=Table)
    except FileNotFoundError:
        return Table()
    except (OSError, AsyncStateError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}. Remove it, and run --trace-effects again") from None
    if table.version != Table().version:
        raise ConfigError(f"{path} is of another version of asyncstate. Remove it, and run --trace-effects again")
    return table


def save(state_dir: str, records: list[Record]) -> None:
    """Add records to the table, except records with names that are not UTF-8.

    Raises ConfigError if the file cannot be read, OSError if it cannot be written.
    """
    table = load(state_dir)
    table.add(record for record in records if _fits(record))
    data = encoded(table)
    while len(data) > LIMIT:
        table.records = dict(sorted(table.records.items(), key=lambda item: -item[1].seen)[: len(table.records) // 2])
        data = encoded(table)
    filesystem.makedirs(state_dir, 0o700)
    filesystem.replace_content(path_in(state_dir), data, access=filesystem.Access(mode=0o600))


def _fits(record: Record) -> bool:
    """Whether JSON can represent the record: it cannot with names that are not UTF-8."""
    try:
        encoded(record)
    except UnicodeError:
        return False
    return True


class Digests:
    """Present digests of files; each file is read once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        """Return the digest of a regular file, "" if it cannot be read."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = _digest(path)
        return known


def _digest(path: str) -> str:
    try:
        found = filesystem.stat(path)
        if found.st_size > _DIGESTED:
            return f"{found.st_size}-{found.st_mtime_ns}"
        return hashlib.sha256(filesystem.read_bytes(path, _DIGESTED)).hexdigest()
    except (OSError, AsyncStateError):
        return ""
