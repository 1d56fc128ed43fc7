"""The ``pkg`` execution module of Debian and its derivatives: apt and dpkg.

No program asks a question; configuration files that were changed by hand are kept unless ``force_conf_new`` is given.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.interfaces.pkg import PkgInterface as _PkgInterface

from ._ahead import prefetch
from ._candidates import (
    foresee,
    latest_version,
    list_repo_pkgs,
    list_upgrades,
    refresh_db,
    upgrade_available,
)
from ._installed import get_selections, hold, list_pkgs, normalize_name, unhold
from ._keys import add_repo_key, del_repo_key, get_repo_keys
from ._programs import output as _output
from ._repositories import del_repo, expand_repo_def, get_repo, list_repos, mod_repo, repo_refusal
from ._transactions import autoremove, install, install_foreseen, purge, refusal, remove, upgrade
from ._versions import compare as _compare

log = logging.getLogger(__name__)

_ARCHIVES = "/var/cache/apt"

__virtualname__ = _PkgInterface(__name__)()
__smi_grains__ = {"os": "Debian", "os_family": "Debian"}

__all__ = [
    "add_repo_key",
    "autoremove",
    "available_version",
    "del_repo",
    "del_repo_key",
    "expand_repo_def",
    "file_dict",
    "file_list",
    "foresee",
    "get_repo",
    "get_repo_keys",
    "get_selections",
    "hold",
    "info_installed",
    "install",
    "install_foreseen",
    "latest_version",
    "list_downloaded",
    "list_pkgs",
    "list_repo_pkgs",
    "list_repos",
    "list_upgrades",
    "mod_repo",
    "normalize_name",
    "owner",
    "parse_arch",
    "prefetch",
    "purge",
    "refresh_db",
    "refusal",
    "remove",
    "repo_refusal",
    "show",
    "unhold",
    "upgrade",
    "upgrade_available",
    "version",
    "version_cmp",
]


def __virtual__() -> Any:
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def available_version(*names: str, **kwargs: Any) -> Any:
    """The same as `latest_version`."""
    return latest_version(*names, **kwargs)


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of each name, "" for none; of a single name the version itself."""
    return __salt__["pkg_resource.version"](*names, **kwargs)


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any) -> int:
    """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
    return _compare(str(pkg1), str(pkg2), ignore_epoch=ignore_epoch)


def parse_arch(name: str) -> dict[str, str | None]:
    """Return the name and the architecture of ``name:arch``."""
    package, colon, architecture = name.rpartition(":")
    return {"name": package, "arch": architecture} if colon else {"name": name, "arch": None}


def owner(*paths: str, **kwargs: Any) -> Any:
    """Return the package each path belongs to, "" for none; of a single path the package itself."""
    if not paths:
        return ""
    found = {path: _output(["dpkg", "-S", path]).partition(":")[0] for path in paths}
    return next(iter(found.values())) if len(found) == 1 else found


def file_list(*packages: str, **kwargs: Any) -> Any:
    """Return the files of packages, ``{"errors": […], "files": […]}``."""
    return __salt__["lowpkg.file_list"](*packages)


def file_dict(*packages: str, **kwargs: Any) -> Any:
    """Return the files of packages by package, ``{"errors": […], "packages": {…}}``."""
    return __salt__["lowpkg.file_dict"](*packages)


def info_installed(*names: str, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return facts about installed packages. CommandExecutionError for others unless ``failhard`` is False."""
    renamed = {
        "package": "name",
        "origin": "vendor",
        "section": "group",
        "maintainer": "packager",
        "homepage": "url",
    }
    about = __salt__["lowpkg.info"](*names, failhard=kwargs.get("failhard", True))
    return {
        name: {renamed.get(key, key): value for key, value in facts.items() if key != "status"}
        for name, facts in about.items()
        if facts.get("status", "ii")[1:2] == "i"
    }


def show(*names: str, **kwargs: Any) -> dict[str, dict[str, dict[str, str]]]:
    """Return facts from the sources about packages, by name and version. ``filter`` lists the wanted fields."""
    if kwargs.get("refresh"):
        refresh_db()
    wanted = kwargs.get("filter") or []
    wanted = {word.strip().lower() for word in (wanted.split(",") if isinstance(wanted, str) else map(str, wanted))}
    found: dict[str, dict[str, dict[str, str]]] = {}
    for stanza in _output(["apt-cache", "show", "--", *names]).split("\n\n") if names else []:
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[:1] != " ")
        if "Package" in fields and "Version" in fields:
            kept = {key: value.strip() for key, value in fields.items() if not wanted or key.lower() in wanted}
            package, number = fields["Package"], fields["Version"]
            kept.pop("Package", None)
            kept.pop("Version", None)
            found.setdefault(package, {})[number] = kept
    return found


def list_downloaded(root: str | None = None, **kwargs: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the package files in apt's cache by package and version: ``path`` and ``size``."""
    top = os.path.join(root, _ARCHIVES.lstrip("/")) if root else _ARCHIVES
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for folder, _, files in os.walk(top):
        for name in sorted(files):
            if name.endswith(".deb"):
                path = os.path.join(folder, name)
                about = __salt__["lowpkg.bin_pkg_info"](path)
                found.setdefault(about["name"], {})[about["version"]] = {"path": path, "size": os.path.getsize(path)}
    return found
