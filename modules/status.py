"""The ``status`` execution module: load, memory, processors and disks of this machine."""

from __future__ import annotations

import os
import re
import time as _time
from datetime import UTC, datetime
from typing import Any

from asyncstate.errors import CommandExecutionError

__func_alias__ = {"time_": "time"}


def time_(format: str = "%A, %d. %B %Y %I:%M%p") -> str:
    """Return the local time."""
    return datetime.now().astimezone().strftime(format)


def uptime() -> dict[str, Any]:
    """Return since when the machine has been up, and for how long."""
    seconds = int(float(_read("/proc/uptime").split()[0]))
    since = datetime.fromtimestamp(_time.time() - seconds, UTC)
    return {
        "seconds": seconds,
        "since_iso": since.replace(tzinfo=None).isoformat(),
        "since_t": int(_time.time() - seconds),
        "days": seconds // 86400,
        "time": f"{seconds // 3600 % 24}:{seconds // 60 % 60}",
    }


def loadavg() -> dict[str, float]:
    """Return the load averages."""
    one, five, fifteen = os.getloadavg()
    return {"1-min": one, "5-min": five, "15-min": fifteen}


def meminfo() -> dict[str, dict[str, str]]:
    """Return /proc/meminfo: ``value`` and ``unit`` of each entry."""
    found: dict[str, dict[str, str]] = {}
    for line in _read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        found[name] = {"value": words[0]} | ({"unit": words[1]} if len(words) > 1 else {})
    return found


def cpuinfo() -> dict[str, Any]:
    """Return /proc/cpuinfo of the last processor."""
    found: dict[str, Any] = {}
    for line in _read("/proc/cpuinfo").splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if colon:
            found[name] = value.split() if name == "flags" else value
    return found


def nproc() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def diskusage(*args: str) -> dict[str, dict[str, int]]:
    """Return ``available`` and ``total`` bytes of mounted file systems: of all, of some paths, or of some types."""
    wanted_paths = {path for path in args if path.startswith("/")}
    wanted_types = {kind for kind in args if not kind.startswith("/")}
    found = {}
    for line in _read("/proc/mounts").splitlines():
        path, kind = (re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word) for word in line.split()[1:3])
        if args and path not in wanted_paths and kind not in wanted_types:
            continue
        try:
            usage = os.statvfs(path)
        except OSError:
            continue
        found[path] = {"available": usage.f_frsize * usage.f_bavail, "total": usage.f_frsize * usage.f_blocks}
    return found


def pid(sig: str) -> str:
    """Return the ids of the processes whose command line matches a regular expression, one a line."""
    pattern = re.compile(sig)
    found = []
    for entry in sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int):
        try:
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read().replace("\0", " ")
        except OSError:
            continue
        if int(entry) != os.getpid() and pattern.search(command):
            found.append(entry)
    return "\n".join(found)


def version() -> str:
    """Return the version text of the kernel."""
    return _read("/proc/version").strip()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise CommandExecutionError(f"File {path} was not found.") from error
