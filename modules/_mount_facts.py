"""Types of file systems that can be mounted."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROC = "/proc"
_MODULES = "/lib/modules"
_HELPERS = "/sbin:/sbin/fs.d:/sbin/fs:/usr/sbin:/usr/local/sbin"
_LEFT_TO_THE_PROGRAM = frozenset({"", "auto"})
_BY_A_HELPER = {"nfs": "addr=", "nfs4": "addr=", "fuse": "fd=", "fuseblk": "fd="}
"""Types that the kernel mounts only with an option that the helper program adds."""


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
