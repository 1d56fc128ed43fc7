"""The ``pkg`` execution module of SUSE: zypper and rpm.

No program asks a question, and licences are accepted; configuration files that were changed by hand are kept, with the
new ones beside them as ``.rpmnew``.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from asyncstate.dunders import __grains__
from asyncstate.errors import CommandExecutionError
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
from ._candidates import (
    latest_version,
    list_repo_pkgs,
    list_upgrades,
    refresh_db,
    resolve_capabilities,
    upgrade_available,
)
from ._locks import hold, list_holds, list_locks, unhold
from ._transactions import autoremove, install, purge, remove, upgrade

_REPOSITORIES = ["/etc/zypp/repos.d"]
_ZYPPER_WORDS = {"refresh": "autorefresh", "cache": "keeppackages", "url": "baseurl", "humanname": "name"}

__virtualname__ = _PkgInterface(__name__)()
__smi_grains__ = {"os": "SUSE", "os_family": "Suse"}

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
    "list_locks",
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
    "resolve_capabilities",
    "unhold",
    "upgrade",
    "upgrade_available",
    "version",
    "version_cmp",
]


def __virtual__() -> Any:
    if __grains__.get("os_family") != "Suse":
        return False, "Module zypper: non SUSE OS not supported by zypper package manager"
    if not shutil.which("zypper"):
        return False, "Module zypper: zypper package manager not found"
    return __virtualname__


def available_version(*names: str, **kwargs: Any) -> Any:
    """The same as `latest_version`."""
    return latest_version(*names, **kwargs)


def list_downloaded(root: str | None = None, **kwargs: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the package files in zypper's cache by package and version: ``path``, ``size`` and time of download."""
    return _repo_files.downloaded(os.path.join(root or "/", "var/cache/zypp/packages"))


def list_repos(**kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return the repositories by alias, each with its settings and its ``file``; switches as booleans."""
    return {alias: _switches(settings) for alias, settings in _repo_files.read(_REPOSITORIES).items()}


def get_repo(repo: str, **kwargs: Any) -> dict[str, Any]:
    """Return the settings of one repository, {} if there is none."""
    found = list_repos().get(repo)
    return {} if found is None else {"alias": repo, **{key: value for key, value in found.items() if key != "file"}}


def mod_repo(repo: str, **kwargs: Any) -> dict[str, Any]:
    """Add or change a repository and return it.

    A new one needs a ``baseurl`` (or ``url``, or ``mirrorlist``). ``name``, ``enabled``, ``refresh``, ``cache``,
    ``gpgcheck`` and ``priority`` are for zypper; ``gpgautoimport`` refreshes it and trusts its key.
    """
    given = {_ZYPPER_WORDS.get(key, key): value for key, value in kwargs.items() if not key.startswith("__")}
    known = repo in _repo_files.read(_REPOSITORIES)
    if not known:
        address = given.get("baseurl") or given.get("mirrorlist")
        start = f"Repository '{repo}' not found, and"
        if not address:
            raise CommandExecutionError(f"{start} neither 'baseurl' nor 'mirrorlist' was specified")
        if ":" not in str(address):
            raise CommandExecutionError(f"Repository '{repo}' not found and URL for baseurl/mirrorlist is malformed")
        given = {"name": repo, "enabled": True, "autorefresh": False, **given}
    settings = {key: value for key, value in given.items() if key not in {"gpgautoimport", "saltenv", "root"}}
    _repo_files.change(_REPOSITORIES, repo, settings)
    if kwargs.get("gpgautoimport") is True:
        refresh_db(gpgautoimport=True, repos=repo)
    found = get_repo(repo)
    return found if settings else {**found, "comment": "Specified arguments did not result in modification of repo"}


def del_repo(repo: str, **kwargs: Any) -> dict[str, Any]:
    """Remove a repository; return ``{repo: True, "message": …}``. CommandExecutionError if there is none."""
    if repo not in _repo_files.read(_REPOSITORIES):
        raise CommandExecutionError(f"Repository '{repo}' not found.")
    return {repo: True, "message": _repo_files.remove(_REPOSITORIES, repo)}


def _switches(settings: dict[str, Any]) -> dict[str, Any]:
    keys = {"enabled", "autorefresh", "gpgcheck", "keeppackages"}
    return {key: value == "1" if key in keys and value in {"0", "1"} else value for key, value in settings.items()}
