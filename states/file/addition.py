"""``file.append`` and ``file.prepend``: lines a file must have."""

from __future__ import annotations

import re
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from . import texts
from .rows import (
    Row,
    expand,
    failed,
    file_problem,
    is_dry_run,
    misspelt,
    new_row,
    string_list,
    warn_needless_hash,
)
from .sources import paired, rendered_texts
from .transfer import touch


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
    """Add each text, or rendered source, that the file has not anywhere yet at its end; make the file if it is missing.

    White space makes no difference in the search, unless ``ignore_whitespace: False``: then a text is a regular
    expression.
    """
    ret = new_row(expand(name), result=False)
    chunks = _prepared(
        ret, "append", text, makedirs, template, context, defaults, source, source_hash, sources, source_hashes
    )
    if chunks is None:
        return ret
    name = ret["name"]
    old = texts.read(name)
    if not texts.is_text(old):
        return failed(ret, "No text found to append. Nothing appended")
    added = []
    for chunk in chunks:
        found = texts.is_there(old, chunk) if ignore_whitespace else re.search(chunk, old, re.MULTILINE)
        if not found:
            added += chunk.splitlines()
    before = old.splitlines()
    return _finish(ret, "append", before, [*before, *added], added, old, show_changes=show_changes, joint="\n")


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
    """Add each text, or rendered source, that the file has not anywhere yet at its beginning.

    With ``header`` the texts together must be the very first lines.
    """
    ret = new_row(expand(name), result=False)
    chunks = _prepared(
        ret, "prepend", text, makedirs, template, context, defaults, source, source_hash, sources, source_hashes
    )
    if chunks is None:
        return ret
    old = texts.read(ret["name"])
    before = texts.lines(old)
    added = [line for chunk in chunks if header or not texts.is_there(old, chunk) for line in chunk.splitlines()]
    if header and [line.rstrip("\r\n") for line in before[: len(added)]] == added:
        added = []
    after = [*(f"{line}\n" for line in added), *before]
    return _finish(ret, "prepend", before, after, added, old, show_changes=show_changes, joint="")


def _prepared(
    ret: Row,
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
) -> list[str] | None:
    """Make sure there is a file and return the texts to add; None if that already decides the row."""
    name = ret["name"]
    if not name:
        failed(ret, f"Must provide name to file.{function}")
        return None
    warn_needless_hash(source, source_hash)
    try:
        pairs = paired(source, source_hash, sources, source_hashes)
    except CommandExecutionError as error:
        failed(ret, str(error))
        return None
    wrong = misspelt(name) or (f"Specified target {name} is a directory" if filesystem.is_directory(name) else "")
    if wrong:
        failed(ret, wrong)
        return None
    if text is None and not pairs:
        failed(ret, f"No text found to {function}. Nothing {function}ed")
        return None
    problem = file_problem(name)
    if problem:
        touched = touch(name, makedirs=makedirs)
        if is_dry_run():
            ret.update(touched)
            return None
        if not filesystem.exists(name):
            failed(ret, problem)
            return None
    try:
        return rendered_texts(pairs, template, context, defaults) if pairs else string_list(text)
    except (CommandExecutionError, OSError, UnicodeError) as error:
        failed(ret, str(error))
        return None


def _finish(
    ret: Row,
    function: str,
    before: list[str],
    after: list[str],
    added: list[str],
    old: str,
    *,
    show_changes: bool,
    joint: str,
) -> Row:
    name = ret["name"]
    ret["result"] = True
    if not added:
        ret["comment"] = f"File {name} is in correct state"
        return ret
    ret["changes"]["diff"] = texts.shown(before, after, old, show_changes=show_changes, joint=joint)
    if is_dry_run():
        ret["result"] = None
        ret["comment"] = f"File {name} is set to be updated"
        return ret
    __salt__[f"file.{function}"](name, args=added)
    ret["comment"] = f"{function.title()}ed {len(added)} lines"
    return ret
