"""Finding and running the pip of an environment."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from typing import Any

from asyncstate import filesystem
from asyncstate.data.urls import without_credentials
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?")


def redacted(text: str) -> str:
    """Return ``text`` with the user and password of every URL hidden."""
    return without_credentials(text)


def pip_command(bin_env: str | None) -> list[str]:
    """Return the command line of pip: that of a virtual environment, of a program, or of this Python.

    ``bin_env`` is the environment's directory, a pip or a Python. CommandExecutionError if there is none.
    """
    if not bin_env:
        return _own_pip()
    if os.path.isdir(bin_env):
        return [_python_of(bin_env), "-m", "pip"]
    if not os.access(bin_env, os.X_OK):
        raise CommandExecutionError(f"Access denied to {bin_env}, could not find a pip binary")
    if "python" in os.path.basename(bin_env):
        return [os.path.normpath(bin_env), "-m", "pip"]
    return [os.path.normpath(bin_env)]


def run_pip(
    arguments: list[str],
    bin_env: str | None = None,
    *,
    user: str | None = None,
    cwd: str | None = None,
    env_vars: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Run pip without questions and return the result of ``cmd.run_all``."""
    for path in (bin_env, cwd):  # Python imports what is in the working directory before it imports pip
        if path:
            filesystem.require_unshared(path, "pip", user)
    env = {"PIP_NO_INPUT": "1", **_variables(env_vars)}
    if bin_env and os.path.isdir(bin_env):
        env["VIRTUAL_ENV"] = bin_env
    command = [*pip_command(bin_env), *arguments]
    result: dict[str, Any] = __salt__["cmd.run_all"](
        command, runas=user, cwd=cwd, env=env, python_shell=False, log_callback=redacted, **options
    )
    return result


def answer_of(arguments: list[str], bin_env: str | None = None, **options: Any) -> str:
    """Run pip and return its output. CommandExecutionError if it fails."""
    result = run_pip(arguments, bin_env, **options)
    if result["retcode"]:
        raise CommandExecutionError(redacted(result["stderr"]))
    return str(result["stdout"])


def version(bin_env: str | None = None, cwd: str | None = None, user: str | None = None) -> str:
    """Return the version of the pip of an environment. CommandExecutionError if there is none.

    CLI Example::

        asyncstate call pip.version bin_env=/srv/app/venv
    """
    result = run_pip(["--version"], bin_env, user=user, cwd=cwd)
    match = re.match(r"pip (\S+)", result["stdout"])
    if result["retcode"] or match is None:
        raise CommandExecutionError("Could not find a `pip` binary")
    return match[1]


def _own_pip() -> list[str]:
    # For an environment made without pip, the system's pip is used.
    if find_spec("pip") is None:
        for name in ("pip3", "pip"):
            path = shutil.which(name)
            if path:
                return [path]
    return [os.path.normpath(sys.executable), "-m", "pip"]


def _python_of(environment: str) -> str:
    for folder in (environment, os.path.join(environment, "bin")):
        if _is_program(os.path.join(folder, "python")):
            return os.path.normpath(os.path.join(folder, "python"))
    folder = os.path.join(environment, "bin")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in sorted(names, key=lambda name: (name != "python3", name)):
        if _PYTHON.fullmatch(name) and _is_program(os.path.join(folder, name)):
            return os.path.normpath(os.path.join(folder, name))
    raise CommandExecutionError(f"Could not find a pip binary in virtualenv {environment}")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _variables(env_vars: Any) -> dict[str, str]:
    if not env_vars:
        return {}
    if not isinstance(env_vars, dict):
        raise CommandExecutionError(f"env_vars {env_vars} is not a dictionary")
    return {str(name): str(value) for name, value in env_vars.items()}
