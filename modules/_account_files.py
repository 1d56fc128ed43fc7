"""The colon-separated account files, changed row by row under the lock of the system's own programs."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.dunders import check_cancelled
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = list[str]

PASSWD, GROUP, SHADOW = "etc/passwd", "etc/group", "etc/shadow"

_PATIENCE = 15.0
"""Timeout for the lock in seconds, as in lckpwdf(3)."""

_one_at_a_time = threading.RLock()


def read_rows(file: str, root: str | None = None) -> list[Row]:
    """Return the rows of one of the files, split at colons. CommandExecutionError if it cannot be read."""
    path = path_of(file, root)
    try:
        text = filesystem.read_bytes(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error
    # Only a line feed ends a row: a carriage return, which a description may contain, would split one row into two.
    return [line.split(":") for line in text.removesuffix("\n").split("\n")] if text else []


def change_rows(file: str, change: Callable[[list[Row]], list[Row]], root: str | None = None) -> None:
    """Replace the rows of one of the files by the result of ``change`` for them."""
    path = path_of(file, root)
    with locked(root):
        rows = read_rows(file, root)
        changed = change([list(row) for row in rows])
        if changed == rows:
            return
        try:
            filesystem.replace_text(path, "".join(":".join(row) + "\n" for row in changed))
        except OSError as error:
            raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error


def change_row(file: str, name: str, change: Callable[[Row], Row], root: str | None = None) -> None:
    """Replace the row of one name by the result of ``change`` for it."""
    change_rows(file, lambda rows: [change(row) if row[0] == name else row for row in rows], root)


def path_of(file: str, root: str | None = None) -> str:
    """Return the path of a file below ``root``."""
    return os.path.join(root or "/", file)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Exclude other threads of this process, which would otherwise wait whole seconds for the lock."""
    with _one_at_a_time:
        yield


@contextmanager
def locked(root: str | None = None) -> Iterator[None]:
    """Hold the lock of the account files, as lckpwdf(3) does. CommandExecutionError if another process holds it."""
    path = path_of("etc/.pwd.lock", root)
    with _one_at_a_time:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _wait_for(descriptor, path)
            yield
        finally:
            os.close(descriptor)


def _wait_for(descriptor: int, path: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > deadline:
                raise CommandExecutionError(f"Cannot lock {path}: another program keeps it") from error
            check_cancelled()
            time.sleep(0.1)
        else:
            return
