"""Checks whether a script would start, by its text and the folder of its copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__, runtime_services
from asyncstate.errors import CommandExecutionError, InvocationError, RenderError

_HEAD = 256
"""Number of bytes that the kernel reads to find the interpreter."""
_ANY_STATUS = ("bg", "success_retcodes", "success_stdout", "success_stderr")
"""Options that may turn the error of a script's shell into success."""


def unstartable(source: str, path: str, template: str | None, place: str, saltenv: str, options: dict[str, Any]) -> str:
    """Return the reason why the script at ``path``, copied to ``place``, would not start; "" if it would.

    With arguments the kernel starts it, so it needs an interpreter; else a shell does, which needs none.
    """
    if not filesystem.is_file(path):
        return ""  # the script of a URL
    try:
        head = _head(path, template, saltenv, options)
    except (CommandExecutionError, InvocationError, RenderError) as error:
        return str(error)
    has_arguments = bool(options.get("args"))
    interpreter, sought = _programs(head)
    if has_arguments and not interpreter and b"\0" not in head:
        return f"{source} has no line #! with its interpreter, which it needs to take arguments"
    must_succeed = not any(options.get(name) for name in _ANY_STATUS)
    if not has_arguments and not must_succeed:
        return ""
    if os.statvfs(place).f_flag & os.ST_NOEXEC:
        return f"No program in {place} may be executed: its file system is mounted with noexec"
    for program in filter(None, (interpreter, sought if must_succeed else "")):
        problem = __salt__["cmd.refusal"]([program], python_shell=False, **options)
        if problem:
            return f"{source} needs an interpreter: {problem}"
    return ""


def _head(path: str, template: str | None, saltenv: str, options: dict[str, Any]) -> bytes:
    if template:
        variables = {**(options.get("defaults") or {}), **(options.get("context") or {})}
        return runtime_services().render_template(Path(path), template, variables, saltenv)[:_HEAD].encode()
    with filesystem.open_read(path) as file:
        return file.read(_HEAD)


def _programs(head: bytes) -> tuple[str, str]:
    """Return the program that a script's first line names, as the kernel reads it, and the one that ``env`` seeks."""
    line, newline, _ = head.removeprefix(b"#!").partition(b"\n")
    name, _, argument = line.replace(b"\t", b" ").strip(b" ").partition(b" ")
    if not head.startswith(b"#!") or not name or (not newline and len(head) == _HEAD):
        return "", ""
    sought = argument.strip(b" ") if os.path.basename(name) == b"env" else b""
    interpreter = os.fsdecode(name)
    return (
        interpreter if os.sep in interpreter else os.path.join(os.curdir, interpreter),
        "" if sought.startswith(b"-") or b"=" in sought else os.fsdecode(sought),
    )
