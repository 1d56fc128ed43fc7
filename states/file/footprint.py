"""The paths that each file state reads and writes, for the implicit order of a run (DESIGN 5.3)."""

from __future__ import annotations

import os
import shlex
from typing import Any

Names = dict[str, list[str]]

_TREES = {"recurse", "tidied", "pruned", "retention_schedule"}
_LOOKS = {"exists", "missing"}
_TAKES = {"copy", "rename", "hardlink"}


def mod_footprint(low: dict[str, Any]) -> dict[str, Any]:
    """Return the resource names a chunk reads and writes: its path, the owner and directory it needs, its sources.

    ``path:/p/**`` is a whole tree. With ``makedirs`` a state makes its directory, which two states may do in any order.
    """
    fun, name = str(low.get("fun", "")), str(low.get("name", ""))
    reads: list[str] = []
    writes: list[str] = []
    if fun in {"cached", "not_cached"}:
        return {"reads": [], "writes": [f"cache:{name}"]}
    path = os.path.normpath(os.path.expanduser(name))
    if fun == "accumulated":
        return {"reads": [], "writes": [f"accumulator:{os.path.normpath(str(low.get('filename', '')))}"]}
    if fun in _LOOKS:
        # Whether a folder exists also depends on the states that make files below it.
        return {"reads": [f"path:{path.rstrip('/')}/**"], "writes": []}
    writes.append(f"path:{path}")
    if fun in _TREES or _is_tree(fun, low):
        writes.append(f"path:{path.rstrip('/')}/**")
    makes = [f"path:{os.path.dirname(path)}"] if low.get("makedirs") or fun == "recurse" else []
    reads += _sources(low) if makes else [f"path:{os.path.dirname(path)}", *_sources(low)]
    if fun in {"managed", "blockreplace"}:
        reads.append(f"accumulator:{path}")
    if fun in _TAKES:
        taken = _local(low.get("source") or low.get("target"))
        if taken and fun == "rename":
            writes += [f"path:{taken}", f"path:{taken}/**"]
        elif taken and fun == "copy":
            reads.append(f"path:{taken}/**")
    if isinstance(low.get("check_cmd"), str):
        reads += _programs(low["check_cmd"])
    for key in ("user", "owner", "group"):
        if isinstance(low.get(key), str) and low[key]:
            reads.append(f"{'group' if key == 'group' else 'user'}:{low[key]}")
    links = {path: str(low["target"])} if fun in {"symlink", "hardlink"} and low.get("target") else {}
    footprint = {"reads": [read for read in dict.fromkeys(reads) if read not in writes], "writes": writes}
    return {**footprint, **({"makes": makes} if makes else {}), **({"links": links} if links else {})}


def _is_tree(fun: str, low: dict[str, Any]) -> bool:
    """Return whether the state also changes what is below the path."""
    if fun == "directory":
        return bool(low.get("recurse") or low.get("clean"))
    return fun in {"absent", "rename", "copy", "patch"} or (fun == "symlink" and bool(low.get("backupname")))


def _sources(low: dict[str, Any]) -> list[str]:
    """Return the local files that a state reads its content from."""
    found = []
    for key in ("source", "sources", "target", "source_hash"):
        value = low.get(key)
        if key == "target" and low.get("fun") not in {"hardlink", "symlink"}:  # to read a link is to read its target
            continue
        for item in value if isinstance(value, list) else [value]:
            path = _local(next(iter(item), None) if isinstance(item, dict) else item)
            if path:
                found.append(f"path:{path}")
    return found


def _local(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    path = os.path.expanduser(value.removeprefix("file://"))
    return os.path.normpath(path) if os.path.isabs(path) else ""


def _programs(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [f"path:{os.path.normpath(word)}" for word in words if os.path.isabs(word)]
