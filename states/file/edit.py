"""Edits within a file: replace, line, comment, uncomment, blockreplace."""

from __future__ import annotations

import errno
import os
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.data.edits import LINE_MODES, toggle_patterns, with_line
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError

from . import texts
from .accumulators import accumulated_for_this_state
from .arguments import expand, file_problem, warn_needless_hash
from .managed import managed
from .sources import SourceError, paired, rendered_texts, without_text

_NO_MODE = "Mode was not defined. How to process the file?"
_NO_CONTENT = "Content can only be empty if mode is ['delete']"


def replace(
    name: str,
    pattern: Any,
    repl: Any,
    count: int = 0,
    flags: Any = 8,
    bufsize: Any = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: Any = None,
    backup: Any = ".bak",
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    backslash_literal: bool = False,
    encoding: str | None = None,
) -> Row:
    """Replace each match of the regular expression ``pattern`` by ``repl``, ``count`` times at most (0: all).

    ``backup`` is the suffix of a copy kept beside the file, False for none.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.replace")
    problem = file_problem(name)
    if problem:
        if ignore_if_missing and "file not found" in problem:
            return unchanged(name, "No changes needed to be made")
        return failed(name, problem)
    try:
        changes = __salt__["file.replace"](
            name,
            pattern,
            repl,
            count=count,
            flags=flags,
            bufsize=bufsize,
            append_if_not_found=append_if_not_found,
            prepend_if_not_found=prepend_if_not_found,
            not_found_content=not_found_content,
            backup=backup,
            dry_run=is_dry_run(),
            show_changes=show_changes,
            ignore_if_missing=ignore_if_missing,
            backslash_literal=backslash_literal,
            encoding=encoding,
        )
    except (CommandExecutionError, InvocationError, OSError) as error:
        return failed(name, str(error))
    return _edited(name, changes, "Changes would have been made", backup)


def _edited(name: str, diff: Any, would: str, backup: Any = False) -> Row:
    """Return the row of an edit with its diff, if any; ``would`` is the comment of a dry run."""
    if not diff:
        return unchanged(name, "No changes needed to be made")
    if is_dry_run():
        problem = _no_room_beside(name, backup)
        return failed(name, problem) if problem else would_change(name, would, {"diff": diff})
    return changed(name, "Changes were made", {"diff": diff})


def _no_room_beside(name: str, backup: Any) -> str:
    """Return the error of a run that cannot write the file, or its copy with the suffix ``backup``; for dry runs."""
    target = filesystem.resolved(name)
    try:
        for path in (f"{target}{backup}", target) if backup else (target,):
            if not filesystem.room_for(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    except OSError as error:
        return str(error)
    return ""


def line(
    name: str,
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
    create: bool = False,
    user: str | int | None = None,
    group: str | int | None = None,
    file_mode: Any = None,
) -> Row:
    """Insert, ensure, replace or delete (``mode``) one line; ``create`` makes the file if it is missing."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.line")
    if create and filesystem.judges() and not filesystem.exists(name):
        place = {"match": match, "location": location, "before": before, "after": after, "indent": indent}
        if problem := _refused_of_new(content, mode, place):
            return failed(name, problem)
    made = managed(name, create=create, user=user, group=group, mode=file_mode, replace=False)
    problem = file_problem(name)
    is_to_be_made = create and filesystem.foretells() and made["result"] is None
    if problem and not is_to_be_made:
        return failed(name, problem)
    if mode is None:
        return failed(name, _NO_MODE)
    if mode.lower() != "delete" and content is None:
        return failed(name, _NO_CONTENT)
    if problem:
        return made
    try:
        changes = __salt__["file.line"](
            name,
            content,
            match=match,
            mode=mode.lower(),
            location=location,
            before=before,
            after=after,
            show_changes=show_changes,
            backup=backup,
            quiet=quiet,
            indent=indent,
        )
    except (CommandExecutionError, OSError, UnicodeError) as error:
        return failed(name, str(error))
    return _edited(name, changes, "Changes would be made")


def _refused_of_new(content: Any, mode: str | None, place: dict[str, Any]) -> str:
    """Return the reason why a line cannot be put into an empty file, "" if it can."""
    if mode is None:
        return _NO_MODE
    if mode.lower() != "delete" and content is None:
        return _NO_CONTENT
    if mode.lower() not in LINE_MODES:
        return f'Unknown mode: "{mode}"'
    try:
        with_line([], None if content is None else str(content), mode.lower(), **place)
    except CommandExecutionError as error:
        return str(error)
    return ""


def comment(name: str, regex: str, char: str = "#", backup: Any = ".bak", ignore_missing: bool = False) -> Row:
    """Put ``char`` before every line that matches ``regex``."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.comment")
    problem = file_problem(name)
    if problem:
        return failed(name, problem)
    plain, commented, core = toggle_patterns(regex, char, comment=True)
    try:
        if not _finds(name, plain):
            if _finds(name, commented):
                return unchanged(name, "Pattern already commented")
            if ignore_missing:
                return unchanged(name, "Pattern not found and ignore_missing set to True")
            return failed(name, f"{core}: Pattern not found")
        return _toggled(name, regex, char, backup, commented, verb="Comment")
    except (AsyncStateError, OSError) as error:
        return failed(name, str(error))


def uncomment(name: str, regex: str, char: str = "#", backup: Any = ".bak") -> Row:
    """Remove ``char`` from the start of every line whose rest matches ``regex``."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.uncomment")
    problem = file_problem(name)
    if problem:
        return failed(name, problem)
    commented, plain, _ = toggle_patterns(regex, char, comment=False)
    try:
        if not _finds(name, commented):
            if not _finds(name, plain):
                return failed(name, f"{regex}: Pattern not found")
            return unchanged(name, "Pattern already uncommented")
        return _toggled(name, regex, char, backup, plain, verb="Uncomment")
    except (AsyncStateError, OSError) as error:
        return failed(name, str(error))


def _finds(name: str, pattern: str) -> bool:
    return bool(__salt__["file.search"](name, pattern, multiline=True))


def _toggled(name: str, regex: str, char: str, backup: Any, expected: str, *, verb: str) -> Row:
    """Comment or uncomment the lines, unless ``expected`` would not be there afterwards."""
    old = texts.read(name)
    toggled = edits.toggled(edits.lines_of(old), regex, char, comment=verb == "Comment")
    new = "".join(line for _, line in toggled)
    if filesystem.judges() and not edits.compiled(expected, "MULTILINE").search(new):
        return failed(name, f"Expected {verb.lower()}ed lines not found")
    if is_dry_run():
        problem = _no_room_beside(name, backup)
        if problem:
            return failed(name, problem)
        if filesystem.foretells() and new == old:
            return unchanged(name, f"{verb}ed lines successfully")
        return would_change(name, f"File {name} is set to be updated", {name: "updated"})
    __salt__["file.comment_line"](name, regex, char, verb == "Comment", backup)
    new = texts.read(name)
    changes = {"diff": texts.shown(texts.lines(old), texts.lines(new), new)} if old != new else {}
    return changed(name, f"{verb}ed lines successfully", changes)


def blockreplace(
    name: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    source: str | list[Any] | None = None,
    source_hash: Any = None,
    template: str | None = "jinja",
    sources: list[Any] | None = None,
    source_hashes: list[Any] | None = None,
    defaults: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    content: str = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: Any = ".bak",
    show_changes: bool = True,
    append_newline: bool | None = None,
    insert_before_match: str | None = None,
    insert_after_match: str | None = None,
) -> Row:
    """Replace the text between two marker lines by ``content``, then accumulated text, then rendered sources."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.blockreplace")
    warn_needless_hash(source, source_hash)
    try:
        pairs = paired(source, source_hash, sources, source_hashes)
    except CommandExecutionError as error:
        return failed(name, str(error))
    problem = file_problem(name)
    if problem:
        return failed(name, problem)
    text = str(content)
    for collected in accumulated_for_this_state(name):
        text = f"{text}\n{collected}" if text else str(collected)
    try:
        text += "".join(rendered_texts(pairs, template, context, defaults))
    except SourceError as error:
        return without_text(error)
    except CommandExecutionError as error:
        return failed(name, str(error))
    try:
        changes = __salt__["file.blockreplace"](
            name,
            marker_start,
            marker_end,
            content=text,
            append_if_not_found=append_if_not_found,
            prepend_if_not_found=prepend_if_not_found,
            insert_before_match=insert_before_match,
            insert_after_match=insert_after_match,
            backup=backup,
            dry_run=is_dry_run(),
            show_changes=show_changes,
            append_newline=append_newline,
        )
    except (CommandExecutionError, InvocationError, OSError, UnicodeError) as error:
        return failed(name, f"Encountered error managing block: {error}. See the log for details.")
    return _edited(name, changes, "Changes would be made", backup)
