"""What uses a mount, and which types of file systems can be mounted."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROC = "/proc"
_MODULES = "/lib/modules"
_HELPERS = "/sbin:/sbin/fs.d:/sbin/fs:/usr/sbin:/usr/local/sbin"
_LEFT_TO_THE_PROGRAM = frozenset({"", "auto"})
_BY_A_HELPER = {"nfs": "addr=", "nfs4": "addr=", "fuse": "fd=", "fuseblk": "fd="}
"""Types that the kernel mounts only with an option that the helper program adds."""
_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


def user_of(number: str, mounts: dict[str, dict[str, Any]]) -> str:
    """Return in words a mount or a process that keeps the mount with this number from being undone, "" if none does."""
    below = next((name for name, mount in mounts.items() if mount["parentid"] == number), "")
    if below:
        return f"{below} is mounted on it"
    wanted = int(number)
    for process in filter(str.isdigit, os.listdir(_PROC)):
        if wanted in _mounts_of(process):
            return f"process {process} ({_program(process)}) uses it"
    return ""


def _mounts_of(process: str) -> Iterator[int]:
    """Yield the numbers of the mounts that a process has its folders, its program and its open files in."""
    for name in ("cwd", "root", "exe"):
        with suppress(OSError):
            descriptor = os.open(f"{_PROC}/{process}/{name}", os.O_PATH | os.O_CLOEXEC)
            try:
                yield from _mount_of(f"{_PROC}/self/fdinfo/{descriptor}")
            finally:
                os.close(descriptor)
    if int(process) == os.getpid():
        return  # among its open files are those of this look
    with suppress(OSError):
        for file in os.listdir(f"{_PROC}/{process}/fdinfo"):
            yield from _mount_of(f"{_PROC}/{process}/fdinfo/{file}")


def _mount_of(about: str) -> Iterator[int]:
    with suppress(OSError), open(about, "rb") as file:
        found = _MOUNT_ID.search(file.read())
        if found:
            yield int(found[1])


def _program(process: str) -> str:
    try:
        with open(f"{_PROC}/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "it ended"


def refused_type(fstype: str, options: Iterable[str]) -> str:
    """Return why no file system of a type can be mounted, "" if one may be."""
    kinds = fstype.split(",")
    if not _LEFT_TO_THE_PROGRAM.isdisjoint(kinds) or (kinds[0].startswith("no") and kinds[0] != "none"):
        return ""
    if any(_has_helper(kind) for kind in kinds):
        return ""
    for kind in kinds:
        option = _BY_A_HELPER.get(kind.partition(".")[0])
        if option and not any(each.startswith(option) for each in options):
            return f"There is no program mount.{kind}, which mounts file systems of the type {kind}"
    return "" if any(map(_may_be_known, kinds)) else f"unknown filesystem type '{fstype}'"


def _has_helper(kind: str) -> bool:
    path = f"{_HELPERS}:{os.environ.get('PATH', '')}"
    return any(
        shutil.which(f"mount.{name}", path=path) for name in {kind, kind.partition(".")[0]} if os.sep not in name
    )


def _may_be_known(kind: str) -> bool:
    """Whether the kernel knows a type, or may load a module that does: in a container, one of the host."""
    kind = kind.partition(".")[0]
    try:
        known = {line.split("\t")[-1] for line in _text(f"{_PROC}/filesystems").splitlines()}
    except OSError:
        return True
    if kind in known or not os.path.exists(f"{_PROC}/modules"):
        return kind in known
    folder = f"{_MODULES}/{os.uname().release}"
    try:
        return f"alias fs-{kind} " in _text(f"{folder}/modules.alias") or f"/{kind}.ko" in _text(
            f"{folder}/modules.dep"
        )
    except OSError:
        return True


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
