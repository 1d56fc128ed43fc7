"""``file.append`` and ``file.prepend``: required lines of a file."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from . import texts
from .arguments import expand, file_problem, misspelt, string_list, warn_needless_hash
from .sources import SourceError, paired, rendered_texts, without_text
from .transfer import touch

_NO_TEXT = "No text found to append. Nothing appended"


def append(
    name: str,
    text: Any = None,
    makedirs: bool = False,
    source: str | list[Any] | None = None,
    source_hash: Any = None,
    template: str | None = "jinja",
    sources: list[Any] | None = None,
    source_hashes: list[Any] | None = None,
    defaults: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    ignore_whitespace: bool = True,
    show_changes: bool = True,
) -> Row:
    """Add each text, or rendered source, at the end of the file unless the file already has it; make a missing file.

    The search ignores differences of white space, unless ``ignore_whitespace: False``: then a text is a regular
    expression.
    """
    name = expand(name)
    chunks = _prepared(
        name,
        "append",
        text,
        makedirs,
        template,
        context,
        defaults,
        source,
        source_hash,
        sources,
        source_hashes,
        patterns=not ignore_whitespace,
    )
    if isinstance(chunks, dict):
        return chunks
    old = texts.read(name)
    if not texts.is_text(old):
        return failed(name, _NO_TEXT)
    added = edits.missing_lines(old, chunks, ignore_whitespace=ignore_whitespace)
    before = old.splitlines()
    return _finish(name, "append", before, [*before, *added], added, old, show_changes=show_changes, joint="\n")


def prepend(
    name: str,
    text: Any = None,
    makedirs: bool = False,
    source: str | list[Any] | None = None,
    source_hash: Any = None,
    template: str | None = "jinja",
    sources: list[Any] | None = None,
    source_hashes: list[Any] | None = None,
    defaults: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    header: bool | None = None,
    show_changes: bool = True,
) -> Row:
    """Add each text, or rendered source, at the beginning of the file unless the file already has it.

    With ``header`` the texts together must be the first lines.
    """
    name = expand(name)
    chunks = _prepared(
        name, "prepend", text, makedirs, template, context, defaults, source, source_hash, sources, source_hashes
    )
    if isinstance(chunks, dict):
        return chunks
    old = texts.read(name)
    before = texts.lines(old)
    added = edits.missing_header(old, chunks) if header else edits.missing_lines(old, chunks)
    after = texts.lines(edits.prepended(old, added))
    return _finish(name, "prepend", before, after, added, old, show_changes=show_changes, joint="")


def _prepared(
    name: str,
    function: str,
    text: Any,
    makedirs: bool,
    template: str | None,
    context: Any,
    defaults: Any,
    source: Any,
    source_hash: Any,
    sources: Any,
    source_hashes: Any,
    *,
    patterns: bool = False,
) -> list[str] | Row:
    """Make sure that there is a file; return the texts to add, or the row if the state ends there.

    With ``patterns`` the texts are searched as regular expressions: for an invalid one no file is made.
    """
    if not name:
        return failed(name, f"Must provide name to file.{function}")
    warn_needless_hash(source, source_hash)
    try:
        pairs = paired(source, source_hash, sources, source_hashes)
    except CommandExecutionError as error:
        return failed(name, str(error))
    wrong = misspelt(name) or (f"Specified target {name} is a directory" if filesystem.is_directory(name) else "")
    if wrong:
        return failed(name, wrong)
    if text is None and not pairs:
        return failed(name, f"No text found to {function}. Nothing {function}ed")
    missing = file_problem(name)
    chunks: list[str] = []
    if filesystem.judges() or not missing:  # before the file is made
        try:
            chunks = rendered_texts(pairs, template, context, defaults) if pairs else string_list(text)
            for chunk in chunks if patterns else ():
                edits.compiled(chunk, "MULTILINE")
            if function == "append" and not all(map(texts.is_text, chunks)):
                return failed(name, _NO_TEXT)
        except SourceError as error:
            return without_text(error)
        except (CommandExecutionError, OSError, UnicodeError) as error:
            return failed(name, str(error))
    if missing:
        touched = touch(name, makedirs=makedirs)
        if is_dry_run() and touched["result"] is not False:
            return touched
        if not filesystem.exists(name):
            return failed(name, missing)
    return chunks


def _finish(
    name: str,
    function: str,
    before: list[str],
    after: list[str],
    added: list[str],
    old: str,
    *,
    show_changes: bool,
    joint: str,
) -> Row:
    if not added:
        return unchanged(name, f"File {name} is in correct state")
    changes = {"diff": texts.shown(before, after, old, show_changes=show_changes, joint=joint)}
    if is_dry_run():
        try:
            filesystem.room_for(name, follow=True)
        except OSError as error:
            return failed(name, str(error))
        return would_change(name, f"File {name} is set to be updated", changes)
    try:
        __salt__[f"file.{function}"](name, args=added)
    except OSError:
        if name in filesystem.changes_so_far().get("created", ()):
            with suppress(OSError):
                filesystem.remove(name)
        raise
    return changed(name, f"{function.title()}ed {len(added)} lines", changes)
