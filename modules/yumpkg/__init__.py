"""The ``pkg`` execution module of Red Hat and its derivatives: dnf and rpm.

No program asks a question; configuration files that were changed by hand are kept, with the new ones beside them as
``.rpmnew``.
"""

from __future__ import annotations

import os
from typing import Any

from asyncstate.dunders import __grains__
from asyncstate.interfaces.pkg import PkgInterface as _PkgInterface

from .. import _repo_files  # noqa: TID252 - as `modules` for type checkers
from .._rpm_answers import (  # noqa: TID252 - as `modules` for type checkers
    file_dict,
    file_list,
    info_installed,
    list_pkgs,
    normalize_name,
    owner,
    parse_arch,
    version,
    version_cmp,
)
from ._candidates import latest_version, list_repo_pkgs, list_upgrades, refresh_db, upgrade_available
from ._holds import hold, list_holds, unhold
from ._programs import program as _program
from ._transactions import autoremove, install, purge, remove, upgrade

_REPOSITORIES = ("/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d")

__virtualname__ = _PkgInterface(__name__)()
__smi_grains__ = {"os": "Fedora", "os_family": "RedHat"}

__all__ = [
    "autoremove",
    "available_version",
    "del_repo",
    "file_dict",
    "file_list",
    "get_repo",
    "hold",
    "info_installed",
    "install",
    "latest_version",
    "list_downloaded",
    "list_holds",
    "list_pkgs",
    "list_repo_pkgs",
    "list_repos",
    "list_upgrades",
    "mod_repo",
    "normalize_name",
    "owner",
    "parse_arch",
    "purge",
    "refresh_db",
    "remove",
    "unhold",
    "upgrade",
    "upgrade_available",
    "version",
    "version_cmp",
]


def __virtual__() -> Any:
    if __grains__.get("os_family") != "RedHat":
        return False, "Module yumpkg: no yum based system detected"
    if _program() is None:
        return False, "DNF nor YUM found"
    return __virtualname__


def available_version(*names: str, **kwargs: Any) -> Any:
    """The same as `latest_version`."""
    return latest_version(*names, **kwargs)


def list_downloaded(root: str | None = None, **kwargs: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the package files in dnf's cache by package and version: ``path``, ``size`` and when they were fetched."""
    top = os.path.join(root or "/", "var/cache", _program() or "dnf")
    return _repo_files.downloaded(top)


def list_repos(basedir: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return the repositories by name, each with its settings and its ``file``."""
    return _repo_files.read(_folders(basedir))


def get_repo(repo: str, basedir: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Return the settings of one repository, {} if there is none."""
    return {key: value for key, value in list_repos(basedir).get(repo, {}).items() if key != "file"}


def mod_repo(repo: str, basedir: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Add or change a repository; return the repositories of its file. An empty value removes a setting.

    A new one needs a ``name``, and one of ``baseurl``, ``mirrorlist`` and ``metalink``; InvocationError otherwise.
    """
    return _repo_files.change(_folders(basedir), repo, kwargs)


def del_repo(repo: str, basedir: Any = None, **kwargs: Any) -> str:
    """Remove a repository, and its file if nothing else is in it; return a sentence that says so."""
    return _repo_files.remove(_folders(basedir), repo)


def _folders(basedir: Any) -> list[str]:
    if basedir:
        return [basedir] if isinstance(basedir, str) else list(basedir)
    return list(_REPOSITORIES)
