"""The ``kmod`` execution module: modules of the Linux kernel, loaded now and at boot."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOADED = "/proc/modules"
_LIBRARY = "/lib/modules"
_LIST = "/etc/modules"
_SYSTEMD_LIST = "/etc/modules-load.d/salt_managed.conf"

_changing = threading.Lock()


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Linux."""
    if __grains__.get("kernel") == "Linux":
        return True
    return False, "The kmod execution module cannot be loaded: only available on Linux systems."


def available() -> list[str]:
    """Return the names of all modules of the running kernel, built in or not, sorted."""
    folder = os.path.join(_LIBRARY, os.uname().release)
    names = [os.path.basename(line)[: -len(".ko")] for line in _lines(os.path.join(folder, "modules.builtin"))]
    for _, _, files in filesystem.walk(folder):
        names += [name[: name.index(".ko")].replace("-", "_") for name in files if ".ko" in name]
    return sorted(names)


def check_available(mod: str) -> bool:
    """Return whether the running kernel has a module."""
    return mod in available()


def lsmod() -> list[dict[str, Any]]:
    """Return ``module``, ``size``, ``depcount`` and ``deps`` (who uses it) of every loaded module."""
    found = []
    for line in _lines(_LOADED):
        name, size, count, users, *_ = line.split()
        deps = [user for user in users.split(",") if user and user != "-"]
        found.append({"size": size, "module": name, "depcount": count, "deps": deps})
    return found


def mod_list(only_persist: bool = False) -> list[str]:
    """Return the names of the loaded modules, or of those that are loaded at boot; sorted."""
    if not only_persist:
        return sorted({each["module"] for each in lsmod()})
    return sorted({_name(line) for line in _lines(_config()) if _name(line)})


def is_loaded(mod: str) -> bool:
    """Return whether a module is loaded."""
    return mod in mod_list()


def load(mod: str, persist: bool = False) -> list[str] | str:
    """Load a module with those it needs, with ``persist`` at boot too.

    Returns the names that are new in either list, or modprobe's error message.
    """
    return _change("modprobe", mod, "loading", (lambda: _persist(mod)) if persist else None)


def remove(mod: str, persist: bool = False, comment: bool = True) -> list[str] | str:
    """Unload a module; with ``persist`` its line in the list goes too, or becomes a comment.

    Returns the names that are gone from either list, or rmmod's error message.
    """
    return _change("rmmod", mod, "removing", (lambda: _forget(mod, comment)) if persist else None)


def _change(program: str, mod: str, doing: str, edit: Callable[[], set[str]] | None) -> list[str] | str:
    if "\n" in mod.strip() or mod.lstrip().startswith("-"):
        raise CommandExecutionError(f"{mod!r} is not the name of a module with its parameters")
    if shutil.which(program) is None:
        raise CommandExecutionError(f"Command '{program}' cannot be found")
    with _changing:
        before = set(mod_list())
        done = __salt__["cmd.run_all"]([program, *mod.split()], python_shell=False)
        if done["retcode"] != 0:
            return f"Error {doing} module {mod}: {done['stderr']}"
        changed = before ^ set(mod_list())
        return sorted(changed | (edit() if edit is not None else set()))


def _persist(mod: str) -> set[str]:
    """Put a module's line into the list, or uncomment the line that is there."""
    name = _name(mod)
    if not name or name in mod_list(only_persist=True) or name not in available():
        return set()
    lines = list(_lines(_config()))
    commented = [index for index, line in enumerate(lines) if line.startswith("#") and line[1:].strip() == mod.strip()]
    for index in commented:
        lines[index] = lines[index][1:]
    _write(lines if commented else [*lines, mod])
    return {name}


def _forget(mod: str, comment: bool) -> set[str]:
    name = _name(mod)
    if not name or name not in mod_list(only_persist=True):
        return set()
    lines = list(_lines(_config()))
    _write([f"#{line}" if _name(line) == name else line for line in lines if comment or _name(line) != name])
    return {name}


def _name(line: str) -> str:
    """Return the module a line names, without its parameters; "" for a comment or an empty line."""
    words = line.split()
    return words[0] if words and not words[0].startswith("#") else ""


def _config() -> str:
    return _SYSTEMD_LIST if "systemd" in __grains__ else _LIST


def _lines(path: str) -> Iterator[str]:
    try:
        yield from filesystem.read_lines(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CommandExecutionError(f"Could not read from file: {path}: {error.strerror}") from error


def _write(lines: list[str]) -> None:
    path = _config()
    try:
        filesystem.makedirs(os.path.dirname(path), exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)
        filesystem.replace_content(filesystem.resolved(path), text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"Could not write to file: {path}: {error.strerror}") from error
