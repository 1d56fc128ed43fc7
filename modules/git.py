"""The ``git`` execution module: reading the program's version and a repository's branch."""

from __future__ import annotations

import shutil

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError


def __virtual__() -> bool | tuple[bool, str]:
    """Load where git is installed."""
    if shutil.which("git"):
        return True
    return False, "The git execution module cannot be loaded: git unavailable."


def version(versioninfo: bool = False) -> str | list[int]:
    """Return the version of git: text, or with ``versioninfo`` a list of numbers."""
    text = __salt__["cmd.run_stdout"](["git", "--version"], python_shell=False).rsplit(None, 1)[-1]
    return [int(part) for part in text.split(".") if part.isdigit()] if versioninfo else text


def current_branch(cwd: str, user: str | None = None) -> str:
    """Return the branch of the repository at ``cwd``, "" if none is checked out. Raises CommandExecutionError."""
    answer = __salt__["cmd.run_all"](
        ["git", "rev-parse", "--abbrev-ref", "HEAD"], cwd=cwd, runas=user, python_shell=False, ignore_retcode=True
    )
    if answer["retcode"]:
        raise CommandExecutionError(f"Command 'git rev-parse --abbrev-ref HEAD' failed: {answer['stderr']}")
    return "" if answer["stdout"] == "HEAD" else str(answer["stdout"])
