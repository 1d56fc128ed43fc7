"""``file.line``: one line at the right place."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.dunders import is_dry_run
from asyncstate.errors import CommandExecutionError

from .backups import copied_beside
from .diffs import unified
from .edits import load_text, store_text
from .paths import expand

log = logging.getLogger(__name__)


def line(
    path: str,
    content: Any = None,
    match: Any = None,
    mode: str | None = None,
    location: str | None = None,
    before: str | None = None,
    after: str | None = None,
    show_changes: bool = True,
    backup: bool = False,
    quiet: bool = False,
    indent: bool = True,
) -> Any:
    """Insert, ensure, replace or delete a line. Returns the diff, or with ``show_changes: False`` whether it changed.

    ``match``, ``before``, ``after`` are regular expressions or parts of a line. CommandExecutionError if the place
    is not unique, or the arguments are invalid.
    """
    path = filesystem.resolved(os.path.abspath(expand(path)))
    if not filesystem.is_file(path):
        if quiet:
            return False
        raise CommandExecutionError(f'File "{path}" does not exists or is not a file.')
    if mode is None:
        raise CommandExecutionError("Mode was not defined. How to process the file?")
    mode = mode.lower()
    if mode not in edits.LINE_MODES:
        raise CommandExecutionError(f'Unknown mode: "{mode}"')
    if mode != "delete" and content is None:
        raise CommandExecutionError('Content can only be empty if mode is "delete"')
    whole, codec = load_text(path)
    old = edits.lines_of(whole)
    if not old and mode in {"delete", "replace"}:
        log.warning("Cannot find text to %s. File '%s' is empty.", mode, path)
    text = None if content is None else str(content)
    body = edits.with_line(old, text, mode, match=match, location=location, before=before, after=after, indent=indent)
    if body == old:
        return False
    changes = unified(old, body) if show_changes else True
    if not is_dry_run():
        with copied_beside(path, time.strftime(".%Y-%m-%d-%H-%M-%S") if backup else ""):
            store_text(path, "".join(body), codec, in_place=False)
    return changes
