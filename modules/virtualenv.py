"""The ``virtualenv`` execution module: making and inspecting Python virtual environments."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __opts__, __pillar__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.filesystem.change import note

_KNOWN = (f"virtualenv-{sys.version_info[0]}.{sys.version_info[1]}", f"virtualenv{sys.version_info[0]}", "virtualenv")


def create(
    path: str,
    venv_bin: str | None = None,
    system_site_packages: bool = False,
    distribute: bool = False,
    clear: bool = False,
    python: str | None = None,
    extra_search_dir: Any = None,
    never_download: bool | None = None,
    prompt: str | None = None,
    pip: bool = False,
    symlinks: bool | None = None,
    upgrade: bool | None = None,
    user: str | None = None,
    use_vt: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a virtual environment at ``path``; return what ``cmd.run_all`` does.

    ``venv_bin`` is a virtualenv program, a Python whose ``venv`` is used, or ``venv`` for that of ``python`` (or of the
    Python that runs asyncstate). The default is virtualenv if that is installed, else ``venv``. An incomplete
    environment is removed.

    CLI Example::

        asyncstate call virtualenv.create /srv/app/venv
    """
    making = command(
        path,
        venv_bin,
        system_site_packages,
        clear,
        python,
        extra_search_dir,
        never_download,
        prompt,
        symlinks,
        upgrade,
        user,
    )
    was_there = filesystem.lexists(path)
    filesystem.require_unshared(path, "virtualenv", user, make=True)
    result: dict[str, Any] = __salt__["cmd.run_all"](making, runas=user, python_shell=False)
    if result["retcode"]:
        if not was_there and filesystem.is_directory(path):
            _remove(path, user)
        return result
    if pip and not os.path.exists(os.path.join(path, "bin", "pip")):
        made: dict[str, Any] = __salt__["cmd.run_all"](
            [os.path.join(path, "bin", "python"), "-m", "ensurepip"], runas=user, python_shell=False
        )
        return made
    return result


def command(
    path: str,
    venv_bin: str | None = None,
    system_site_packages: bool = False,
    clear: bool = False,
    python: str | None = None,
    extra_search_dir: Any = None,
    never_download: bool | None = None,
    prompt: str | None = None,
    symlinks: bool | None = None,
    upgrade: bool | None = None,
    user: str | None = None,
    **kwargs: Any,
) -> list[str]:
    """Return the command with which `create` makes an environment.

    Raises CommandExecutionError if a program is missing, or lacks a wanted option.
    """
    program = _program(venv_bin)
    arguments: dict[str, Any] = {"extra_search_dir": _listed(extra_search_dir), "never_download": never_download}
    arguments |= {"upgrade": upgrade, "symlinks": symlinks, "prompt": (prompt or "").strip() or None}
    python = (python or "").strip() or None
    is_venv = _is_venv(program)
    words = _venv_command(program, python) if is_venv else [program]
    for interpreter in (program, python):
        if interpreter and os.sep in interpreter:
            filesystem.require_unshared(interpreter, "virtualenv", user)
    if problem := __salt__["cmd.refusal"](words, runas=user, python_shell=False):
        raise CommandExecutionError(problem)
    options = _venv_options(program, arguments) if is_venv else _virtualenv_options(program, python, user, arguments)
    flags = [*(["--clear"] if clear else []), *(["--system-site-packages"] if system_site_packages else [])]
    return [*words, *options, *flags, path]


def follows_links(venv_bin: str | None = None) -> bool:
    """Return whether `create` makes an environment where a link leads: virtualenv does, ``venv`` refuses the link."""
    return not _is_venv(_program(venv_bin))


def _remove(path: str, user: str | None) -> None:
    """Remove an incomplete environment as its user, who may have replaced a parent folder."""
    if user:
        __salt__["cmd.run_all"](["rm", "-rf", "--", path], runas=user, python_shell=False)
    else:
        note(path, "created")  # made by the program: if it is removed again, it did not exist before
        filesystem.remove_tree(path)


def virtualenv_ver(venv_bin: str, user: str | None = None, **kwargs: Any) -> tuple[int, ...]:
    """Return the version of a virtualenv program as numbers. CommandExecutionError if it prints none."""
    command = [venv_bin, "--version"]
    result = __salt__["cmd.run_all"](command, runas=user, python_shell=False, redirect_stderr=True)
    match = re.search(r"(?:^|\s)(\d+(?:\.\d+)+)", result["stdout"])
    if result["retcode"] or match is None:
        raise CommandExecutionError(
            f"Unable to get the virtualenv version output using '{command}'. Returned data: {result}"
        )
    return tuple(int(part) for part in match[1].split("."))


def get_site_packages(venv: str) -> str:
    """Return the folder of an environment's packages. CommandExecutionError if there is no environment."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return _printed(venv, [code])


def get_distribution_path(venv: str, distribution: str) -> str:
    """Return the folder of an installed distribution. CommandExecutionError if it is not installed."""
    code = "import sys, importlib.metadata as m; print(m.distribution(sys.argv[1]).locate_file(''))"
    return _printed(venv, [code, distribution]).rstrip("/")


def _program(venv_bin: str | None) -> str:
    return str(venv_bin or __pillar__.get("venv_bin") or __opts__.get("venv_bin") or _installed_program())


def _installed_program() -> str:
    found = (shutil.which(name) for name in _KNOWN)
    return next(filter(None, found), "venv")


def _is_venv(program: str) -> bool:
    return _is_python(program) or "venv" in os.path.basename(program)


def _is_python(program: str) -> bool:
    return bool(re.fullmatch(r"(python|pypy)[0-9.]*", os.path.basename(program), re.IGNORECASE))


def _venv_command(program: str, python: str | None) -> list[str]:
    if program == "venv":
        return [_existing(python) if python else sys.executable, "-m", "venv"]
    if not _is_python(program):
        if python:
            raise CommandExecutionError(f"The `python`(`--python`) option is not supported by '{program}'")
        return [program]
    if python:
        raise CommandExecutionError("Pass the target interpreter either as `venv_bin` or as `python`, not both.")
    return [_existing(program), "-m", "venv"]


def _venv_options(program: str, arguments: dict[str, Any]) -> list[str]:
    if arguments["extra_search_dir"]:
        raise CommandExecutionError(
            f"The `extra_search_dir`(`--extra-search-dir`) option is not supported by '{program}'"
        )
    if arguments["never_download"] is not None:
        raise CommandExecutionError(f"The `never_download`(`--never-download`) option is not supported by '{program}'")
    options = [f"--{name}" for name in ("upgrade", "symlinks") if arguments[name] is True]
    return [*options, *(["--prompt", arguments["prompt"]] if arguments["prompt"] else [])]


def _virtualenv_options(program: str, python: str | None, user: str | None, arguments: dict[str, Any]) -> list[str]:
    for name in ("upgrade", "symlinks"):
        if arguments[name] is not None:
            raise CommandExecutionError(f"The `{name}`(`--{name}`) option is not supported by '{program}'")
    version = virtualenv_ver(program, user=user)
    options = [f"--python={_existing(python)}"] if python else []
    options += [f"--extra-search-dir={folder}" for folder in arguments["extra_search_dir"]]
    if arguments["never_download"] is True:
        options.append("--never-download")
    elif arguments["never_download"] is False and version >= (20,):
        options.append("--download")
    return [*options, *([f"--prompt={arguments['prompt']}"] if arguments["prompt"] else [])]


def _existing(python: str) -> str:
    if not shutil.which(python):
        raise CommandExecutionError(f"Cannot find requested python ({python}).")
    return python


def _listed(folders: Any) -> list[str]:
    if not folders:
        return []
    return [str(folder).strip() for folder in (folders.split(",") if isinstance(folders, str) else folders)]


def _printed(venv: str, arguments: list[str]) -> str:
    python = os.path.join(venv, "bin", "python")
    filesystem.require_unshared(venv, "virtualenv")
    if not os.path.exists(python):
        raise CommandExecutionError(f"Path '{venv}' does not appear to be a virtualenv: '{python}' not found.")
    result = __salt__["cmd.run_all"]([python, "-c", *arguments], python_shell=False)
    if result["retcode"]:
        raise CommandExecutionError(f"{result['stdout']}\n{result['stderr']}")
    return str(result["stdout"])
