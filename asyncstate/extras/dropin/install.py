"""``salt-call --install DIR``: a program named ``salt-call`` that runs this command.

It never hides a real ``salt-call`` by accident.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from asyncstate.cli.console import Console

_NAME = "salt-call"
_MARK = "# Runs asyncstate in place of Salt: written by 'asyncstate salt-call --install'."


def install(console: Console, folder: str, *, force: bool) -> int:
    """Write the program to a folder, and return the exit code.

    Where a real ``salt-call`` is in that folder, or in a later one of PATH, so that it would no longer be found,
    nothing is written without ``force``.
    """
    folder = os.path.abspath(os.path.expanduser(folder))
    target = os.path.join(folder, _NAME)
    if not os.path.isdir(folder):
        console.complain(f"{folder} is not a directory", f"Make it first: mkdir -p {shlex.quote(folder)}")
        return 1
    hidden = _hidden_by(target)
    if hidden and not force:
        console.complain(
            f"{hidden} is Salt's own: with {target} it would no longer be run",
            "Choose a folder that is not on PATH, or one behind it, or use --force.",
        )
        return 1
    from asyncstate import filesystem

    if os.path.islink(target):
        os.unlink(target)
    filesystem.replace_content(target, _program().encode(), access=filesystem.Access(mode=0o755))
    console.lines([f"{target} runs asyncstate salt-call."])
    if folder not in _path():
        console.say(f"{folder} is not on PATH.")
    return 0


def _path() -> list[str]:
    return [os.path.abspath(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]


def _hidden_by(target: str) -> str:
    """Return the first real ``salt-call`` that ``target`` would replace or stand before; "" if there is none."""
    folders = _path()
    own = os.path.dirname(target)
    behind = folders[folders.index(own) :] if own in folders else [own]
    for folder in dict.fromkeys([own, *behind]):
        found = os.path.join(folder, _NAME)
        if os.path.lexists(found) and not _is_ours(found):
            return found
    return ""


def _is_ours(path: str) -> bool:
    """Whether `install` wrote a program. False for pipes, devices, folders and links that root may not follow."""
    from asyncstate import filesystem

    try:
        with filesystem.open_read(path) as file:
            return _MARK.encode() in file.read(4096)
    except (OSError, AsyncStateError):
        return False


def _program() -> str:
    """Return the text of the program. With ``-P`` Python imports nothing from the working directory."""
    python = shlex.quote(sys.executable)
    return f'#!/bin/sh\n{_MARK}\nexec {python} -P -m asyncstate salt-call "$@"\n'
