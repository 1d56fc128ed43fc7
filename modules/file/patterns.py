"""Searching files with regular expressions and globs."""

from __future__ import annotations

import fnmatch
import glob
import shlex
from typing import Any

from asyncstate import filesystem
from asyncstate.data.edits import compiled
from asyncstate.dunders import __salt__
from asyncstate.errors import InvocationError

from .diffs import decode
from .paths import expand


def read_text(path: str) -> str:
    """Return a file as text, with its newlines unchanged."""
    return decode(filesystem.read_bytes(path))


def contains(path: str, text: Any) -> bool:
    """Return whether a file contains ``text``, without the white space around it. False if there is no such file."""
    path = expand(path)
    return filesystem.exists(path) and str(text).strip() in _readable(path)


def contains_regex(path: str, regex: str, lchar: str = "") -> bool:
    """Return whether a line of a file matches; ``lchar`` are characters to drop from its beginning."""
    path = expand(path)
    if not filesystem.exists(path):
        return False
    pattern = compiled(regex, 0)
    lines = _readable(path).splitlines(keepends=True)
    return any(pattern.search(line.lstrip(lchar) if lchar else line) for line in lines)


def contains_glob(path: str, glob_expr: str) -> bool:
    """Return whether a file as a whole matches a glob."""
    path = expand(path)
    return filesystem.exists(path) and fnmatch.fnmatch(_readable(path), glob_expr)


def _readable(path: str) -> str:
    try:
        return read_text(path)
    except OSError:
        return ""


def grep(path: str, pattern: str, *opts: str) -> dict[str, Any]:
    """Run grep on all files that match the glob ``path``, each option an argument; return what ``cmd.run_all`` does."""
    path = expand(path)
    options: list[str] = []
    for option in opts:
        parts = shlex.split(str(option))
        if len(parts) > 1:
            raise InvocationError(
                "Passing multiple command line arguments in a single string is not supported, "
                f"please pass the following arguments separately: {option}"
            )
        options.extend(parts)
    found = glob.glob(path) or [path]
    answer: dict[str, Any] = __salt__["cmd.run_all"](["grep", *options, pattern, *found], python_shell=False)
    return answer
