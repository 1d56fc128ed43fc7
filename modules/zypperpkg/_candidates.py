"""The packages in the repositories: refreshing and querying the cached metadata."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from asyncstate.dunders import __context__, __pillar__

from .. import _rpm_versions  # noqa: TID252 - as `modules` for type checkers
from .._package_transactions import one_or_all  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import LISTING, resolved  # noqa: TID252 - as `modules` for type checkers
from .._version_conditions import newest_first  # noqa: TID252 - as `modules` for type checkers
from ._programs import asked, checked

_UP_TO_DATE = re.compile(r"^Repository '(.+)' is up to date")
_BUILT = re.compile(r"^Building repository '(.+)' cache \[.*done\]")
_NOTHING_TO_REFRESH = 6

Repository = dict[str, list[str]]


def refresh_db(force: bool | None = None, gpgautoimport: bool = False, **kwargs: Any) -> dict[str, bool]:
    """Fetch the metadata of the repositories; return for each whether it was new.

    ``force`` (the default, unless pillar ``zypper:refreshdb_force`` is False) fetches it even if it seems unchanged;
    ``repos`` names the repositories; ``gpgautoimport`` trusts new keys. CommandExecutionError if zypper fails.
    """
    __context__["pkg.refresh"] = False
    if force is None:
        force = bool((__pillar__.get("zypper") or {}).get("refreshdb_force", True))
    repos = kwargs.get("repos") or []
    command = [*(["--gpg-auto-import-keys"] if gpgautoimport else []), "refresh", *(["--force"] if force else [])]
    text = checked(*command, *([repos] if isinstance(repos, str) else repos), fine=(0, _NOTHING_TO_REFRESH))
    found: dict[str, bool] = {}
    for line in map(str.strip, text.splitlines()):
        if match := _UP_TO_DATE.match(line):
            found[match[1]] = False
        elif match := _BUILT.match(line):
            found[match[1]] = True
    return found


def latest_version(*names: str, **kwargs: Any) -> Any:
    """Return the version each package could be upgraded to, "" if it is up to date; of a single name the version.

    The repositories are refreshed first unless ``refresh`` is False; ``fromrepo`` queries one of them only.
    """
    if not names:
        return ""
    if kwargs.get("refresh", True):
        refresh_db()
    installed = LISTING.get(versions_as_list=True)
    offered = list_repo_pkgs(*names, fromrepo=kwargs.get("fromrepo"))
    return one_or_all(names, _rpm_versions.newer(names, offered, installed))


def upgrade_available(name: str, **kwargs: Any) -> bool:
    """Return whether there is a newer version of a package."""
    return bool(latest_version(name, **kwargs))


def list_upgrades(refresh: bool = True, **kwargs: Any) -> dict[str, str]:
    """Return the packages an upgrade would change, and their new versions. ``fromrepo`` limits the repositories."""
    if refresh:
        refresh_db()
    repos = kwargs.get("fromrepo") or []
    chosen = [word for repo in ([repos] if isinstance(repos, str) else repos) for word in ("--repo", str(repo))]
    answer = asked("list-updates", *chosen)
    updates = () if answer is None else answer.iter("update")
    return {each.get("name", ""): each.get("edition", "") for each in updates if each.get("kind") == "package"}


def list_repo_pkgs(*names: str, **kwargs: Any) -> dict[str, Any]:
    """Return the versions of each package in the repositories, newest first; names may be globs, none means all.

    ``byrepo`` returns them by repository; ``fromrepo`` queries one of them only.
    """
    answer = asked("search", "--details", "--type", "package", *names)
    found: dict[str, Repository] = {}
    for each in () if answer is None else answer.iter("solvable"):
        name, repository = each.get("name", ""), each.get("repository", "")
        if repository == "(System Packages)" or (kwargs.get("fromrepo") and repository != kwargs["fromrepo"]):
            continue
        full = resolved(name, each.get("arch", "noarch"))
        if not names or any(fnmatch.fnmatchcase(name, one) or fnmatch.fnmatchcase(full, one) for one in names):
            found.setdefault(repository, {}).setdefault(full, []).append(each.get("edition", ""))
    if kwargs.get("byrepo"):
        return {repository: _sorted(packages) for repository, packages in found.items()}
    together: Repository = {}
    for packages in found.values():
        for name, versions in packages.items():
            together.setdefault(name, []).extend(versions)
    return _sorted(together)


def resolve_capabilities(pkgs: Any, refresh: bool = False, **kwargs: Any) -> list[Any]:
    """Return a ``pkgs`` list with each capability replaced by the package that provides it, if there is only one.

    Nothing is replaced unless ``resolve_capabilities`` is set. The repositories are refreshed first if ``refresh`` is.
    """
    if refresh:
        refresh_db()
    if not kwargs.get("resolve_capabilities"):
        return list(pkgs)
    found: list[Any] = []
    for each in pkgs:
        name, version = next(iter(each.items())) if isinstance(each, dict) else (each, None)
        if not _search(name):
            providing = _search(name, "--provides")
            name = providing.pop() if len(providing) == 1 else name
        found.append({name: version} if version else name)
    return found


def _search(name: str, *options: str) -> set[str]:
    answer = asked("search", "--match-exact", *options, "--", str(name))
    return set() if answer is None else {each.get("name", "") for each in answer.iter("solvable")}


def _sorted(packages: Repository) -> Repository:
    return {name: newest_first(versions, _rpm_versions.compare) for name, versions in packages.items()}
