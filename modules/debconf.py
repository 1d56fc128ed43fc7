"""The ``debconf`` execution module: answers to the questions of Debian packages."""

from __future__ import annotations

import re
import shutil
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError

__func_alias__ = {"set_": "set"}

_ANSWER = re.compile(r"^([^#\s]\S+)[\t ]+(\S+)[\t ]+(\S+)[\t ]+([^\n]*)$", re.MULTILINE)


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Debian and its derivatives, with the package debconf-utils."""
    if __grains__.get("os_family") != "Debian":
        return False, "The debconf module could not be loaded: unsupported OS family"
    if shutil.which("debconf-get-selections") is None:
        return False, "The debconf module could not be loaded: debconf-utils is not installed."
    return True


def get_selections(fetchempty: bool = True) -> dict[str, list[list[str]]]:
    """Return ``[question, type, value]`` of all answers by package; without ``fetchempty`` those that are not empty."""
    text = __salt__["cmd.run_stdout"](["debconf-get-selections"], python_shell=False, output_loglevel="quiet")
    found: dict[str, list[list[str]]] = {}
    for package, *answer in _ANSWER.findall(text):
        if fetchempty or answer[-1]:
            found.setdefault(package, []).append(answer)
    return found


def show(name: str) -> list[list[str]] | None:
    """Return ``[question, type, value]`` of the answers for a package, None if debconf does not know it."""
    return get_selections().get(name)


def set_(package: str, question: str, type: str, value: Any, *extra: Any) -> bool:
    """Answer a question of a package. CommandExecutionError if debconf refuses."""
    text = " ".join([str(value), *map(str, extra)])
    line = f"{package} {question} {type} {text}"
    if "\n" in line:
        raise CommandExecutionError(f"{question}: an answer is one line")
    _give(f"{line}\n")
    return True


def set_file(path: str, saltenv: str = "base", **kwargs: Any) -> bool:
    """Set the answers in a file of the tree; False if there is no such file."""
    return _given(file_text(path, saltenv))


def set_template(path: str, template: str, context: Any, defaults: Any, saltenv: str = "base", **kwargs: Any) -> bool:
    """Render a file of the tree and set its answers; False if there is no such file."""
    return _given(file_text(path, saltenv, template, context=context, defaults=defaults, **kwargs))


def file_text(path: str, saltenv: str = "base", template: str | None = None, **kwargs: Any) -> str | None:
    """Return the text of a file of the tree, rendered with ``template``; None if there is no such file."""
    if template:
        found = __salt__["cp.get_template"](path=path, dest="", template=template, saltenv=saltenv, **kwargs)
    else:
        found = __salt__["cp.cache_file"](path, saltenv)
    return filesystem.read_bytes(found).decode() if found else None


def _given(text: str | None) -> bool:
    if text is None:
        return False
    _give(text)
    return True


def _give(text: str) -> None:
    """Pass the answers, which may be passwords, as text: a path may name another file when it is read."""
    answer = __salt__["cmd.run_all"](
        ["debconf-set-selections"], stdin=text, stdin_raw_newlines=True, python_shell=False
    )
    if answer["retcode"] != 0:
        raise CommandExecutionError(f"debconf-set-selections failed: {answer['stderr']}")
