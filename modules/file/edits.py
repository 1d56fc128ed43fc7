"""Edits of a file: owner, mode and hard links stay, and a backup is kept beside it if wanted."""

from __future__ import annotations

import os
import re
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.data.edits import compiled, regex_flags
from asyncstate.errors import CommandExecutionError, InvocationError

from .backups import copied_beside
from .diffs import is_text, unified
from .paths import expand
from .patterns import read_text


def replace(
    path: str,
    pattern: Any,
    repl: Any,
    count: int = 0,
    flags: Any = 8,
    bufsize: Any = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: Any = None,
    backup: Any = ".bak",
    dry_run: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    preserve_inode: bool = True,
    backslash_literal: bool = False,
    encoding: str | None = None,
) -> Any:
    """Replace what matches a regular expression. Returns the diff, or with ``show_changes: False`` whether it changed.

    ``append_if_not_found`` / ``prepend_if_not_found`` add a line (``not_found_content``, else ``repl``) if the file has
    neither a match nor that line. With ``preserve_inode`` a file that has several names keeps them all; any other file
    is replaced atomically. ``bufsize`` has no effect. ``search_only`` only returns whether anything matches.
    """
    given = expand(path)
    path = filesystem.resolved(os.path.abspath(given))
    if not filesystem.exists(path):
        if ignore_if_missing:
            return False
        raise InvocationError(f"File not found: {path}")
    if encoding is None and not is_text(path):
        raise InvocationError(f"Cannot perform string replacements on a binary file: {path}")
    if search_only and (append_if_not_found or prepend_if_not_found):
        raise InvocationError("search_only cannot be used with append/prepend_if_not_found")
    if append_if_not_found and prepend_if_not_found:
        raise InvocationError("Only one of append and prepend_if_not_found is permitted")
    flags = edits.byte_flags(flags) if encoding is None else flags
    regex = compiled(pattern, flags)
    old, codec = load_text(path, encoding)
    if search_only:
        return regex.search(old) is not None
    lines = edits.replaced(
        old,
        pattern,
        repl,
        count=count,
        flags=flags,
        append_if_not_found=append_if_not_found,
        prepend_if_not_found=prepend_if_not_found,
        not_found_content=not_found_content,
        backslash_literal=backslash_literal,
    )
    new = "".join(lines)
    if new != old and not dry_run:
        with copied_beside(path, backup):
            _put(path, new.encode(codec), in_place=preserve_inode)
        if backup:
            _link_backup(given, path, backup)
    if show_changes:
        return unified(_lines(old), lines)
    return new != old


def load_text(path: str, encoding: str | None = None) -> tuple[str, str]:
    """Return a file's text and the encoding to write it back with."""
    if encoding is None:
        return edits.decoded(filesystem.read_bytes(path))
    try:
        return filesystem.read_bytes(path).decode(encoding), encoding
    except (UnicodeError, LookupError) as error:
        raise CommandExecutionError(f"Unable to open file '{path}'. Exception: {error}") from error


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _link_backup(given: str, path: str, backup: str) -> None:
    """If the edited path is a link, make a link to the backup beside it."""
    if filesystem.is_link(given):
        beside = f"{given}{backup}"
        if filesystem.lexists(beside):
            filesystem.remove(beside)
        filesystem.symlink(f"{filesystem.readlink(given)}{backup}", beside)


def search(
    path: str,
    pattern: Any,
    flags: Any = 8,
    bufsize: Any = 1,
    ignore_if_missing: bool = False,
    multiline: bool = False,
) -> bool:
    """Return whether a regular expression matches anywhere in a file."""
    combined = regex_flags(flags) | (regex_flags("MULTILINE") if multiline else 0)
    found = replace(
        path,
        pattern,
        "",
        flags=combined,
        dry_run=True,
        search_only=True,
        show_changes=False,
        ignore_if_missing=ignore_if_missing,
    )
    return bool(found)


def comment(path: str, regex: str, char: str = "#", backup: Any = ".bak") -> Any:
    """Comment out the lines that match: see `comment_line`."""
    return comment_line(path, regex, char, True, backup)


def uncomment(path: str, regex: str, char: str = "#", backup: Any = ".bak") -> Any:
    """Uncomment the lines whose rest matches: see `comment_line`."""
    return comment_line(path, regex, char, False, backup)


def comment_line(path: str, regex: str, char: str = "#", cmnt: bool = True, backup: Any = ".bak") -> Any:
    """Put ``char`` before each line that begins with a match of ``regex``, or remove it.

    Returns the diff of those lines, False if no line matches.
    """
    path = filesystem.resolved(os.path.abspath(expand(path)))
    if not filesystem.is_file(path):
        raise InvocationError(f"File not found: {path}")
    if not is_text(path):
        raise InvocationError(f"Cannot perform string replacements on a binary file: {path}")
    old, codec = load_text(path)
    lines = edits.toggled(edits.lines_of(old), regex, char, comment=cmnt)
    different = [(line, edited) for line, edited in lines if line != edited]
    if not different:
        return False
    with copied_beside(path, backup):
        filesystem.replace_content(path, edits.encoded("".join(edited for _, edited in lines), codec))
    return unified([line for line, _ in different], [edited for _, edited in different])


def append(path: str, *args: Any, **kwargs: Any) -> str:
    """Add lines at the end of an existing file, on lines of their own. ``args`` may be a keyword, too."""
    lines = _arguments(args, kwargs)
    path = filesystem.resolved(os.path.abspath(expand(path)))
    old, codec = load_text(path)
    store_text(path, edits.appended(old, lines), codec)
    return f'Wrote {len(lines)} lines to "{path}"'


def prepend(path: str, *args: Any, **kwargs: Any) -> str:
    """Add lines at the beginning of a file, which is made if it is missing. ``args`` may be a keyword, too."""
    lines = _arguments(args, kwargs)
    path = filesystem.resolved(os.path.abspath(expand(path)))
    old, codec = load_text(path) if filesystem.exists(path) else ("", "utf-8")
    store_text(path, edits.prepended(old, lines), codec)
    return f'Prepended {len(lines)} lines to "{path}"'


def write(path: str, *args: Any, **kwargs: Any) -> str:
    """Replace the content of a file by these lines. ``args`` may be a keyword, too."""
    lines = _arguments(args, kwargs)
    path = filesystem.resolved(os.path.abspath(expand(path)))
    store_text(path, "".join(f"{line}\n" for line in lines), "utf-8")
    return f'Wrote {len(lines)} lines to "{path}"'


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    if "args" in kwargs:
        given = kwargs["args"]
        return list(given) if isinstance(given, list) else [given]
    return list(args)


def store_text(path: str, text: str, codec: str, *, in_place: bool = True) -> None:
    """Write a file in the encoding it was read in, or in UTF-8 if that cannot encode the new text.

    With ``in_place`` a file that has several names keeps them all.
    """
    _put(path, edits.encoded(text, codec), in_place=in_place)


def _put(path: str, data: bytes, *, in_place: bool) -> None:
    (filesystem.edit_content if in_place else filesystem.replace_content)(path, data)


def read(path: str, binary: bool = False) -> Any:
    """Return the content of a file: text, or bytes if ``binary``."""
    path = expand(path)
    if binary:
        return filesystem.read_bytes(path)
    return read_text(path)


def seek_read(path: str, size: int, offset: int) -> bytes:
    """Return ``size`` bytes of a file from ``offset``."""
    with filesystem.open_read(expand(path)) as stream:
        stream.seek(int(offset))
        return stream.read(int(size))


def seek_write(path: str, data: bytes | str, offset: int) -> int:
    """Write bytes into a file at ``offset``, in place. Returns their number."""
    raw = data.encode() if isinstance(data, str) else data
    with filesystem.open_write(expand(path)) as descriptor:
        written = os.pwrite(descriptor, raw, int(offset))
        os.fsync(descriptor)
    return written


def truncate(path: str, length: int) -> None:
    """Cut a file to ``length`` bytes, in place."""
    with filesystem.open_write(expand(path)) as descriptor:
        os.ftruncate(descriptor, int(length))


def psed(
    path: str,
    before: Any,
    after: Any,
    limit: str = "",
    backup: str = ".bak",
    flags: str = "gMS",
    escape_all: bool = False,
    multi: bool = False,
) -> None:
    """Replace ``before`` by ``after`` as sed would; with ``limit``, only after the first match of that."""
    path = filesystem.resolved(os.path.abspath(expand(path)))
    text, codec = load_text(path)
    head, tail = "", text
    if limit:
        match = re.search(re.escape(limit) if escape_all else limit, text)
        if match is None:
            return
        head, tail = text[: match.end()], text[match.end() :]
    letters = regex_flags([letter for letter in flags if letter != "g"])
    pattern = re.compile(re.escape(str(before)) if escape_all else str(before), letters)
    with copied_beside(path, backup):
        store_text(path, head + pattern.sub(str(after), tail, count=0 if "g" in flags else 1), codec)
