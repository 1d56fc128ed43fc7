"""The programs sed and patch."""

from __future__ import annotations

import shlex
import shutil
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from .paths import expand

_SPECIAL = "^.[$()|*+?{"


def _escaped(text: Any, escape_all: bool) -> str:
    result = str(text).replace("/", "\\/")
    if escape_all:
        for letter in _SPECIAL:
            result = result.replace(letter, f"\\{letter}")
    return result


def sed(
    path: str,
    before: Any,
    after: Any,
    limit: str = "",
    backup: str = ".bak",
    options: str = "-r -e",
    flags: str = "g",
    escape_all: bool = False,
    negate_match: bool = False,
) -> Any:
    """Run ``sed -i`` with one substitution. Returns the result of ``cmd.run_all``, False if there is no such file."""
    path = expand(path)
    if not filesystem.exists(path):
        return False
    filesystem.require_unshared(path, "sed")
    script = (
        f"{f'/{_escaped(limit, escape_all)}/ ' if limit else ''}{'!' if negate_match else ''}"
        f"s/{_escaped(before, escape_all)}/{_escaped(after, escape_all)}/{flags}"
    )
    command = ["sed", f"-i{backup}" if backup else "-i", *shlex.split(options), script, path]
    return __salt__["cmd.run_all"](command, python_shell=False)


def sed_contains(path: str, text: Any, limit: str = "", flags: str = "g") -> bool:
    """Return whether sed would find ``text`` in a file."""
    path = expand(path)
    if not filesystem.exists(path):
        return False
    script = f"{f'/{_escaped(limit, False)}/ ' if limit else ''}s/{_escaped(text, False)}/$/p{flags}"
    return bool(__salt__["cmd.run"](["sed", "-n", "-r", "-e", script, path], python_shell=False))


def patch(originalfile: str, patchfile: str, options: Any = "", dry_run: bool = False) -> dict[str, Any]:
    """Apply a patch to a file or directory, never twice and without reject files. Returns what ``cmd.run_all`` does."""
    program = shutil.which("patch")
    if not program:
        raise CommandExecutionError("patch executable not found. Is the distribution's patch package installed?")
    filesystem.require_unshared(originalfile, "patch")
    given = list(options) if isinstance(options, (list, tuple)) else shlex.split(str(options))
    command = [program, *given]
    if dry_run:
        command.append("--dry-run")
    if not {"-N", "--forward"} & set(given):
        command.append("--forward")
    if not any(option == "-r" or option.startswith(("-r ", "--reject-file")) for option in given):
        command.append("--reject-file=-")
    command += ["-i", patchfile]
    if filesystem.is_directory(originalfile):
        command += ["-d", originalfile]
        if not any(option.startswith(("-p", "--strip=")) for option in given):
            command.append("--strip=0")
    else:
        command.append(originalfile)
    answer: dict[str, Any] = __salt__["cmd.run_all"](command, python_shell=False)
    return answer
