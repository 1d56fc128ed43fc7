"""The ``disk`` execution module: how full file systems are, and what is on block devices."""

from __future__ import annotations

import re
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_OPTIONS = re.compile(r"-?[a-zA-Z]+")
_REPORTS = "getro getsz getss getpbsz getiomin getioopt getalignoff getmaxsect getsize64 getra getfra".split()
_TAG = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def usage(args: str | None = None) -> dict[str, dict[str, str]]:
    """Return ``filesystem``, ``1K-blocks``, ``used``, ``available`` and ``capacity`` of each mounted file system.

    ``args``: letters of df's options, such as ``l`` (local ones alone).
    """
    columns = ("filesystem", "1K-blocks", "used", "available", "capacity")
    return {mount: dict(zip(columns, values, strict=True)) for mount, values in _df("-P", args).items()}


def inodeusage(args: str | None = None) -> dict[str, dict[str, str]]:
    """Return ``inodes``, ``used``, ``free``, ``use`` and ``filesystem`` of each mounted file system."""
    columns = ("filesystem", "inodes", "used", "free", "use")
    return {mount: dict(zip(columns, values, strict=True)) for mount, values in _df("-iP", args).items()}


def percent(args: str | None = None) -> Any:
    """Return how full each mounted file system is (``"42%"``); for one mount point its value, {} if it is none."""
    found = {mount: values[4] for mount, values in _df("-P", None).items()}
    return found.get(args, {}) if args else found


def blkid(device: str | None = None, token: str | None = None) -> dict[str, dict[str, str]]:
    """Return the tags (``UUID``, ``TYPE``, ``LABEL`` …) of block devices: all, one, or those with ``token=value``."""
    argv = ["blkid", *(["-t", token] if token else []), *([device] if device else [])]
    done = __salt__["cmd.run_all"](argv, python_shell=False, ignore_retcode=True)
    if done["retcode"]:
        return {}
    lines = (line.partition(": ") for line in str(done["stdout"]).splitlines())
    return {name: dict(_TAG.findall(tags)) for name, separator, tags in lines if separator}


def fstype(device: str) -> str:
    """Return the kind of file system on a device, "" if it has none."""
    done = __salt__["cmd.run_all"](["lsblk", "-no", "FSTYPE", device], python_shell=False, ignore_retcode=True)
    lines = str(done["stdout"]).split() if done["retcode"] == 0 else []
    return lines[0] if lines else ""


def get_fstype_from_path(path: str) -> str:
    """Return the type of the file system that contains a path, "" if there is no such path."""
    argv = ["df", "--output=fstype", path]
    done = __salt__["cmd.run_all"](argv, python_shell=False, ignore_retcode=True)
    return str(done["stdout"]).split()[-1] if done["retcode"] == 0 else ""


def dump(device: str, args: list[str] | None = None) -> dict[str, str]:
    """Return the kernel's facts about a block device (``getsize64``, ``getro`` …); ``args`` selects some of them."""
    wanted = args or _REPORTS
    argv = ["blockdev", *(f"--{name}" for name in wanted), device]
    done = __salt__["cmd.run_all"](argv, python_shell=False, ignore_retcode=True)
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"] or f"blockdev cannot read {device}")
    return dict(zip(wanted, str(done["stdout"]).splitlines(), strict=False))


def _df(options: str, more: str | None) -> dict[str, list[str]]:
    """Return the first five columns of df by mount point."""
    if more and not _OPTIONS.fullmatch(more):
        raise CommandExecutionError(f"Invalid options for df: {more!r}; letters are expected")
    argv = ["df", options, *([f"-{more.lstrip('-')}"] if more else [])]
    done = __salt__["cmd.run_all"](argv, python_shell=False, ignore_retcode=True)
    found: dict[str, list[str]] = {}
    for line in str(done["stdout"]).splitlines()[1:]:
        words = line.split()
        while len(words) > 6 and not words[1].isdigit():  # the name of a file system may contain spaces
            words[:2] = [" ".join(words[:2])]
        if len(words) >= 6:
            found[" ".join(words[5:])] = words[:5]
    return found
