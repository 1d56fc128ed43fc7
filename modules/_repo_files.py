"""The repositories of dnf and zypper: ``.repo`` files."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import InvocationError

from ._ini_lines import IniFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LINKS = ("baseurl", "mirrorlist", "metalink")
"""The keys for the address of a repository, which has one of them."""

_NOT_SETTINGS = {"saltenv", "strict_config", "refresh", "key_url", "gpgautoimport", "root"}


def read(folders: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the repositories of all files in these folders, each with its settings and its ``file``."""
    found: dict[str, dict[str, Any]] = {}
    for path in _paths(folders):
        file = IniFile(path)
        found.update({name: {**file.settings(name), "file": path} for name in file.sections})
    return found


def change(folders: list[str], repo: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Add or change a repository; return the repositories of its file by the path of the file.

    An empty value removes a setting. InvocationError if a new one lacks its name or its address.
    """
    given = {key: value for key, value in arguments.items() if not key.startswith("__") and key not in _NOT_SETTINGS}
    links = [key for key in LINKS if given.get(key)]
    if len(links) > 1:
        raise InvocationError(f"One and only one of {', '.join(LINKS)} can be used")
    removed = [key for key, value in given.items() if value is None or value == ""]
    if "name" in removed:
        raise InvocationError("The repo name cannot be deleted")
    known = read(folders)
    if repo in known:
        file = IniFile(known[repo]["file"])
    else:
        file = IniFile(_path_of_new(folders, repo, given, links))
        file.sections[repo] = []
    if links:
        removed += [key for key in LINKS if key not in links]
    elif any(key in removed for key in LINKS) and not any(
        key in known.get(repo, {}) and key not in removed for key in LINKS
    ):
        raise InvocationError(f"A repo needs one of {', '.join(LINKS)}: the last one cannot be deleted")
    for key in removed:
        file.unset(repo, key)
    for key, value in given.items():
        if key not in removed:
            file.set(repo, key, _text(value))
    file.save()
    return {file.path: {name: file.settings(name) for name in file.sections}}


def remove(folders: list[str], repo: str) -> str:
    """Remove a repository, and its file if it is then empty; return a sentence about it."""
    known = read(folders)
    if repo not in known:
        return f"Error: the {repo} repo does not exist in {folders}"
    file = IniFile(known[repo]["file"])
    del file.sections[repo]
    file.save()
    if not file.sections:
        return f"File {file.path} containing repo {repo} has been removed"
    return f"Repo {repo} has been removed from {file.path}"


def downloaded(top: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the package files below ``top`` by package and version."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for folder, _, files in filesystem.walk(top):
        for name in sorted(files):
            if name.endswith(".rpm"):
                path = os.path.join(folder, name)
                about = __salt__["lowpkg.bin_pkg_info"](path)
                status = filesystem.stat(path)
                found.setdefault(about["name"], {})[about["version"]] = {
                    "path": path,
                    "size": status.st_size,
                    "creation_date_time_t": int(status.st_ctime),
                    "creation_date_time": datetime.fromtimestamp(int(status.st_ctime)).isoformat(),  # noqa: DTZ006 - as Salt
                }
    return found


def _paths(folders: Iterable[str]) -> list[str]:
    return [
        os.path.join(folder, name)
        for folder in folders
        if filesystem.is_directory(folder)
        for name in sorted(filesystem.listdir(folder))
        if name.endswith(".repo")
    ]


def _path_of_new(folders: list[str], repo: str, given: Mapping[str, Any], links: list[str]) -> str:
    folder = next(filter(os.path.isdir, folders), None)
    start = "The repo does not exist and needs to be created, but"
    if folder is None:
        raise InvocationError(f"{start} none of the following basedir directories exist: {folders}")
    if not given.get("name"):
        raise InvocationError(f"{start} a name was not given")
    if not links:
        raise InvocationError(f"{start} none of {', '.join(LINKS)} was given")
    if "/" in repo or repo in {"", ".", ".."}:
        raise InvocationError(f"{repo!r} is not the name of a repository")
    return os.path.join(folder, f"{repo}.repo")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return "\n".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
