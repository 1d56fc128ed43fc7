"""Text and bytes."""

from __future__ import annotations

import difflib
import fnmatch
import io
import re
import shlex
from typing import TYPE_CHECKING, Any

from asyncstate.data.digest import random_str as random
from asyncstate.data.host import is_text_file
from asyncstate.data.text import (
    check_whitelist_blacklist,
    contains_whitespace,
    excerpt_around,
    expr_match,
    human_to_bytes,
    is_hex,
    to_bytes,
    to_num,
)
from asyncstate.data.text import to_camelcase as snake_to_camel_case
from asyncstate.data.text import to_snake_case as camel_to_snake_case
from asyncstate.extras.namespace.codec import to_unicode
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "build_whitespace_split_regex",
    "camel_to_snake_case",
    "check_include_exclude",
    "check_whitelist_blacklist",
    "contains_whitespace",
    "dequote",
    "expr_match",
    "get_context",
    "get_diff",
    "get_diff_list",
    "human_to_bytes",
    "is_binary",
    "is_hex",
    "is_quoted",
    "random",
    "snake_to_camel_case",
    "to_bytes",
    "to_none",
    "to_num",
    "to_str",
    "to_unicode",
]


_DIFFED = ("utf-8", "latin-1")


to_str = to_unicode


def to_none(text: Any) -> Any:
    """Return None for empty or blank text, anything else as it is."""
    return text if str(text).strip() else None


def is_quoted(value: Any) -> str:
    """Return the quotation mark around a text, ``""`` if there is none."""
    if isinstance(value, str) and value.startswith(("'", '"')) and value[0] == value[-1]:
        return value[0]
    return ""


def dequote(value: Any) -> Any:
    """Remove the quotation marks around a text."""
    return value[1:-1] if is_quoted(value) else value


def is_binary(data: Any) -> bool:
    """Return whether text or bytes contain binary data."""
    if not data or not isinstance(data, (str, bytes)):
        return False
    content = to_bytes(data)
    return not is_text_file(io.BytesIO(content), len(content))


def check_include_exclude(
    path_str: str, include_pat: str | list[str] | None = None, exclude_pat: str | list[str] | None = None
) -> bool:
    """Return whether a path is included (the default) and not excluded, by shell patterns or ``E@`` expressions."""
    included = not include_pat or any(_path_matches(path_str, pattern) for pattern in _listed(include_pat))
    return included and not (exclude_pat and any(_path_matches(path_str, each) for each in _listed(exclude_pat)))


def _listed(patterns: str | list[str]) -> list[str]:
    return patterns if isinstance(patterns, list) else [patterns]


def _path_matches(path: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        return re.search(pattern[2:], path) is not None
    return fnmatch.fnmatch(path, pattern)


def build_whitespace_split_regex(text: str) -> str:
    """Return an expression for the lines of ``text`` in which any blanks between words match."""
    gap = r"(?:[\s]+)?"
    lines = (gap + gap.join(map(re.escape, _words(line))) + gap for line in text.splitlines())
    return f"(?m)^{''.join(lines)}$"


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if r"'\"" in line:
        lexer.quotes = ""
    elif "'" in line:
        lexer.quotes = '"'
    elif '"' in line:
        lexer.quotes = "'"
    return list(lexer)


def get_context(template: str, line: int, num_lines: int = 5, marker: str | None = None) -> str:
    """Return the lines around a line (1-based) between two ``---``; the whole text if there is no such line."""
    return excerpt_around(template, line, num_lines, marker or "")


def get_diff_list(a: Sequence[str | bytes], b: Sequence[str | bytes], *args: Any, **kwargs: Any) -> list[str]:
    """Return the lines of the unified diff of two lists of lines."""
    return list(_diff(a, b, *args, **kwargs))


def get_diff(a: Sequence[str | bytes], b: Sequence[str | bytes], *args: Any, **kwargs: Any) -> str:
    """Return the unified diff of two lists of lines."""
    return "".join(_diff(a, b, *args, **kwargs))


def _diff(a: Sequence[str | bytes], b: Sequence[str | bytes], *args: Any, **kwargs: Any) -> Iterator[str]:
    return difflib.unified_diff(
        [to_str(line, _DIFFED) for line in a], [to_str(line, _DIFFED) for line in b], *args, **kwargs
    )


__getattr__: ModuleGetattr = nothing_else(__name__)
