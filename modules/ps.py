"""The ``ps`` execution module: processes, processors and memory, read from /proc."""

from __future__ import annotations

import os
import re
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_PROC = "/proc"


def get_pid_list() -> list[int]:
    """Return the ids of all processes."""
    return sorted(int(name) for name in os.listdir(_PROC) if name.isdigit())


def pgrep(pattern: str, user: str | None = None, full: bool = False, pattern_is_regex: bool = False) -> Any:
    """Return the IDs of the processes whose name, or with ``full`` whose command line, contains ``pattern``.

    None if there is none. ``user`` selects the processes of one user; with ``pattern_is_regex``, ``pattern`` is a
    regular expression.
    """
    matches = re.compile(str(pattern) if pattern_is_regex else re.escape(str(pattern))).search
    uid = _uid(user) if user else None
    found = [pid for pid in get_pid_list() if matches(_command(pid, full=full)) and uid in {None, _owner(pid)}]
    return found or None


def proc_info(pid: int, attrs: list[str] | None = None) -> dict[str, Any]:
    """Return ``pid``, ``name``, ``cmdline``, ``username``, ``ppid`` and ``status`` of a process, or some of it."""
    status = _status(pid)
    if not status:
        raise CommandExecutionError(f"There is no process {pid}")
    known = {
        "pid": int(pid),
        "name": status["Name"],
        "cmdline": _arguments(pid),
        "username": __salt__["file.uid_to_user"](int(status["Uid"].split()[0])),
        "ppid": int(status["PPid"]),
        "status": status["State"].partition("(")[2].rstrip(")"),
    }
    return {name: known[name] for name in attrs if name in known} if attrs else known


def psaux(name: str) -> list[Any]:
    """Return ``[name, lines, sentence]``: the lines of ``ps aux`` that match a pattern, and their number."""
    pattern = re.compile(str(name))
    own = str(os.getpid())
    lines = str(__salt__["cmd.run"](["ps", "aux"], python_shell=False)).splitlines()
    found = [line for line in lines if pattern.search(line) and line.split()[1:2] != [own]]
    return [str(name), found, f"{len(found)} occurrence(s)."]


def num_cpus() -> int:
    """Return how many processors there are."""
    return os.cpu_count() or 1


def total_physical_memory() -> int:
    """Return the size of the memory in bytes."""
    return _memory()["MemTotal"]


def virtual_memory() -> dict[str, Any]:
    """Return ``total``, ``available``, ``free``, ``used`` (bytes) and ``percent`` of the memory."""
    memory = _memory()
    total, available = memory["MemTotal"], memory.get("MemAvailable", memory["MemFree"])
    return {
        "total": total,
        "available": available,
        "free": memory["MemFree"],
        "used": total - available,
        "percent": round((total - available) * 100 / total, 1),
    }


def swap_memory() -> dict[str, Any]:
    """Return ``total``, ``free``, ``used`` (bytes) and ``percent`` of the swap space."""
    memory = _memory()
    total, free = memory.get("SwapTotal", 0), memory.get("SwapFree", 0)
    percent = round((total - free) * 100 / total, 1) if total else 0.0
    return {"total": total, "free": free, "used": total - free, "percent": percent}


def boot_time(time_format: str | None = None) -> Any:
    """Return when this machine was started: seconds since 1970, or text by a format of strftime."""
    seconds = next(int(line.split()[1]) for line in _read("stat").splitlines() if line.startswith("btime"))
    if not time_format:
        return seconds
    import datetime as dt  # noqa: PLC0415 - needed only for a format

    return dt.datetime.fromtimestamp(seconds).strftime(time_format)  # noqa: DTZ006 - this machine's own time


def _memory() -> dict[str, int]:
    lines = (line.partition(":") for line in _read("meminfo").splitlines())
    return {name: int(value.split()[0]) * (1024 if "kB" in value else 1) for name, _, value in lines if value.split()}


def _command(pid: int, *, full: bool) -> str:
    return " ".join(_arguments(pid)) if full else _status(pid).get("Name", "")


def _arguments(pid: int) -> list[str]:
    return [part for part in _read(str(pid), "cmdline").split("\0") if part]


def _status(pid: int) -> dict[str, str]:
    """Return the fields of /proc/PID/status; {} if the process has ended."""
    lines = (line.partition(":") for line in _read(str(pid), "status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _owner(pid: int) -> int:
    return int(_status(pid).get("Uid", "-1").split()[0])


def _uid(user: str) -> int:
    found = __salt__["file.user_to_uid"](user)
    if not isinstance(found, int):
        raise CommandExecutionError(f"There is no user {user!r}")
    return found


def _read(*path: str) -> str:
    try:
        with open(os.path.join(_PROC, *path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
