"""Footprints of the file states."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from typing import Any

from .. import _resources  # noqa: TID252 - as `states` for type checkers

Names = dict[str, list[str]]

_TREES = {"recurse", "tidied", "pruned", "retention_schedule"}
_LOOKS = {"exists", "missing"}
_TAKES = {"copy", "rename", "hardlink"}
_COPY_BESIDE = {"replace": ".bak", "comment": ".bak", "uncomment": ".bak", "blockreplace": False}
"""The edits that keep a copy beside the file, and the default ending of its name."""
_ALWAYS_THERE = frozenset({"user:root", "user:0"})
"""Owners whose number no state changes: root, whose number is in use."""
_KEEPS_LINKS = "it keeps the links of its source, and only a run shows where they lead"
_FILES = {"managed", "serialize", "append", "prepend", "touch", "symlink"}
"""States that leave a file at their path, unless ``create`` is False."""
_REPLACES = {"managed", "serialize", "recurse", "copy"}


def mod_footprint(low: dict[str, Any]) -> dict[str, Any]:
    """Return the footprint of a chunk: its path, the owner and directory it needs, its sources.

    ``path:/p/**`` is a whole tree. With ``makedirs`` a state makes its directory, which two states may do in any order
    if it gets the same mode and owners from both.
    """
    fun, name = str(low.get("fun", "")), str(low.get("name", ""))
    if fun in {"cached", "not_cached"}:
        read = [*_resources.fetched(name), *_resources.checks(low)] if fun == "cached" else []
        return {"reads": read, "writes": [f"cache:{name}"]}
    path = _path(name)
    if fun == "accumulated":
        return {"reads": [], "writes": [f"accumulator:{_path(str(low.get('filename', '')))}"]}
    if not path.startswith(("/", "~")):  # the state fails
        return {"reads": [], "writes": []}
    if fun in _LOOKS:
        # The existence of a folder also depends on states that make files below it.
        return {"reads": [f"path:{path.rstrip('/')}/**"], "writes": []}
    makes = [_folder(fun, path, low)] if low.get("makedirs") or fun in {"recurse", "mknod"} else []
    writes = [f"path:{path}", *_beside(fun, path, low)]
    if fun in _TREES or _is_tree(fun, low):
        writes.append(f"path:{path.rstrip('/')}/**")
    folder = os.path.dirname(path)
    reads = [] if makes else [f"path:{folder}"]
    reads += [
        *_sources(fun, low),
        *(_number_of(each) for each in _resources.accounts(low, ("user", "owner")) if each not in _ALWAYS_THERE),
        *_resources.command(low.get("check_cmd"), low),
        *(_resources.files(low["tmp_dir"]) if "tmp_dir" in low else ()),
    ]
    if fun in {"managed", "blockreplace"}:
        reads.append(f"accumulator:{path}")
    taken = _resources.local(low.get("source") or low.get("target")) if fun in _TAKES else ""
    if taken and fun == "rename":
        writes += [f"path:{taken}", f"path:{taken}/**"]
    elif taken and fun == "copy":
        reads.append(f"path:{taken}/**")
    footprint: dict[str, Any] = {
        "reads": [read for read in dict.fromkeys(reads) if read not in writes],
        "writes": writes,
    }
    if makes:
        footprint["makes"] = makes
    left = _left(fun, path, folder, low)
    if left:
        footprint["leaves"] = [f"path:{left}"]
    if fun in {"symlink", "hardlink"} and low.get("target"):
        footprint["links"] = {path: str(low["target"])}
    elif taken:
        footprint["copies"] = {path: taken}
    elif fun == "recurse" and low.get("keep_symlinks"):
        footprint["unknown"] = _KEEPS_LINKS
    return footprint


def _number_of(account: str) -> str:
    """Return the resource of an account's number: the groups of an owner do not matter."""
    return f"{account}#id" if account.startswith("user:") else account


def _left(fun: str, path: str, folder: str, low: dict[str, Any]) -> str:
    """Return the folder that certainly exists after the success of a state, "" if none does."""
    if not path.startswith("/"):
        return ""
    if fun == "directory":
        return path
    return folder if fun in _FILES and low.get("create", True) is True else ""


def _path(name: str) -> str:
    return os.path.normpath(name)


def _is_tree(fun: str, low: dict[str, Any]) -> bool:
    """Return whether the state also changes paths below its path."""
    if fun == "directory":
        return bool(low.get("recurse") or low.get("clean"))
    return fun in {"absent", "rename", "copy", "patch"} or (
        fun == "symlink" and bool(low.get("backupname") or low.get("force"))
    )


def _folder(fun: str, path: str, low: dict[str, Any]) -> str:
    """Return the folder that a state makes, with its mode and owners."""
    if fun in {"append", "prepend", "touch", "rename"}:
        return _resources.folder(path)
    mode = low.get("dir_mode")
    if fun in {"directory", "symlink"}:
        mode = mode or low.get("mode")
    elif fun in {"managed", "serialize", "copy"}:
        mode = mode or _resources.folder_mode(low.get("mode"))
    elif fun not in {"hardlink", "recurse"}:
        mode = None
    return _resources.folder(path, mode, low.get("user") or low.get("owner"), low.get("group"))


def _beside(fun: str, path: str, low: dict[str, Any]) -> list[str]:
    """Return the places for copies of the old content."""
    if fun in _COPY_BESIDE:
        ending = low.get("backup", _COPY_BESIDE[fun])
        return [f"path:{path}{ending}"] if ending else []
    if fun in {"directory", "symlink"} and isinstance(low.get("backupname"), str):
        kept = os.path.normpath(os.path.join(os.path.dirname(path), low["backupname"]))
        return [f"path:{kept}", f"path:{kept}/**"]
    if fun == "patch":
        endings = dict.fromkeys([".orig", *_suffixes(low.get("options"))])
        return [*_resources.files(low.get("reject_file")), *(f"path:{path}{ending}" for ending in endings)]
    if fun == "line":
        return [f"path:{path}.<time>"] if low.get("backup") else []
    return _resources.backups(path, low) if fun in _REPLACES else []


def _suffixes(options: Any) -> list[str]:
    """Return the suffixes of the backups requested by options of the program ``patch``."""
    try:
        words = [str(word) for word in options] if isinstance(options, list) else shlex.split(str(options or ""))
    except ValueError:
        return []
    found = [following for word, following in pairwise(words) if word in {"-z", "--suffix"}]
    found += [word[2:] for word in words if word.startswith("-z")]
    return [each for each in (*found, *(word[9:] for word in words if word.startswith("--suffix="))) if each]


def _sources(fun: str, low: dict[str, Any]) -> list[str]:
    """Return the resources that a state reads to get its content."""
    sources = [low.get("source"), low.get("sources")]
    if fun in {"hardlink", "symlink"}:  # to read a link is to read its target
        sources.append(low.get("target"))
    return [*_resources.fetched(*sources), *_resources.checks(low)]
