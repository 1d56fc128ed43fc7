"""Finds Salt: its interpreter, its version and, without loading it, the folders of its modules."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate.errors import AsyncStateError, PathRefused
from asyncstate.filesystem import open_read, who_can_change
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

AUTO: Final = "auto"
OFF: Final = "off"
WORKER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
"""The program that an interpreter runs."""
PATIENCE = 60.0
"""Seconds for an interpreter to report its Salt, and for a worker to load it."""
_PACKAGED: Final = "/opt/saltstack/salt/bin/python3"
"""The interpreter of Salt's own packages."""
_FLAGS: Final = (("-I",), ("-E",))
"""Flags to try with an interpreter: isolated, then with the user's site packages."""
_HEAD = 4096


class SaltMissing(AsyncStateError):
    """There is no usable Salt; the text has the places searched, or the fault."""


class SaltPython(Value):
    """An interpreter that has Salt: its command line, Salt's version, and the folders of its modules by kind."""

    argv: tuple[str, ...]
    version: str
    package: str
    folders: dict[str, list[str]]


def find_salt(setting: str, *, trust: bool) -> SaltPython:
    """Return the interpreter that the option ``salt_python`` names or, if it is ``auto``, the first that has Salt.

    As root, an interpreter or a Salt that other accounts can change is refused, unless ``trust``. Raises SaltMissing.
    """
    if setting == OFF:
        raise SaltMissing("salt_python is off")
    if setting != AUTO:
        return _asked(setting, trust=trust)
    problems = []
    for python in dict.fromkeys(_candidates()):
        try:
            return _asked(python, trust=trust)
        except SaltMissing as error:
            problems.append(str(error))
    raise SaltMissing("; ".join(problems) or "Salt is not installed here: no salt-call on PATH")


def may_have_salt(setting: str) -> bool:
    """Return whether there may be a Salt, without starting a process."""
    return setting != OFF and (setting != AUTO or next(_candidates(), None) is not None)


def _candidates() -> Iterator[str]:
    """Yield the interpreters that may have Salt: behind ``salt-call`` on PATH, of Salt's packages, and this one."""
    for folder in os.get_exec_path():
        program = os.path.join(folder or os.curdir, "salt-call")
        python = interpreter_of(program) if os.access(program, os.X_OK) else None
        if python:
            yield python
    if os.access(_PACKAGED, os.X_OK):
        yield _PACKAGED
    from asyncstate.salt_compat import real_salt_is_installed

    if real_salt_is_installed():
        yield sys.executable


def interpreter_of(program: str) -> str | None:
    """Return the interpreter of a Python program: from its first line, or beside it, as in relenv.

    None if the file is no script of Python, or its interpreter does not exist.
    """
    try:
        with open_read(program) as file:
            head = file.read(_HEAD)
    except (OSError, PathRefused):
        return None
    if not head.startswith(b"#!"):
        return None
    words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split()
    name = os.path.basename(words[0]) if words else ""
    if name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        import shutil

        found = shutil.which(words[0]) if words else None
    elif name in {"sh", "bash", "dash"}:  # "exec" "$(dirname "$(readlink -f "$0")")/bin/python3.10" "$0" "$@"
        found = _beside(os.path.realpath(program), head)
    else:
        found = words[0] if words else None
    is_python = found is not None and os.path.basename(found).startswith(("python", "pypy"))
    return found if found and is_python and os.access(found, os.X_OK) else None


def _beside(program: str, head: bytes) -> str | None:
    """Return the interpreter, below the folder of a program, that is named in its first lines of shell."""
    folder = os.path.dirname(program)
    for word in os.fsdecode(head).replace('"', " ").replace("'", " ").split():
        below = word.rpartition(")")[2].lstrip("/")
        if os.path.basename(below).startswith("python"):
            path = os.path.join(folder, below)
            if os.access(path, os.X_OK):
                return path
    return None


def _asked(python: str, *, trust: bool) -> SaltPython:
    """Ask an interpreter for Salt. Raises SaltMissing."""
    if not os.access(python, os.X_OK):
        raise SaltMissing(f"{python} is not a program that can be run")
    _require_trusted(python, trust=trust)
    said = ""
    for flags in _FLAGS:
        argv = (python, *flags, WORKER)
        facts, said = _facts((*argv, "--probe"))
        if facts:
            _require_trusted(facts["package"], trust=trust)
            return SaltPython(argv, facts["version"], facts["package"], facts["folders"])
    raise SaltMissing(f"{python} cannot import Salt: {said}")


def _facts(argv: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """Return an interpreter's description of its Salt; or an empty one, and the reason."""
    try:
        from asyncstate.process.child import run_child

        ended = run_child(list(argv), timeout=PATIENCE)
        facts = msgspec.json.decode(ended.stdout.strip().rpartition(b"\n")[2])
    except OSError as error:
        return {}, str(error)
    except msgspec.DecodeError:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return {}, last or f"it ended with status {ended.returncode}"
    return ({}, str(facts["missing"])) if "missing" in facts else (facts, "")


def _require_trusted(path: str, *, trust: bool) -> None:
    changer = "" if trust else who_can_change(path)
    if changer:
        raise SaltMissing(f"{path} is not run as root, for {changer} can change it")
