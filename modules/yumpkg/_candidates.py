"""The packages in the repositories: refreshing and querying the cached metadata."""

from __future__ import annotations

import fnmatch
from typing import Any

from asyncstate.dunders import __context__

from .. import _rpm_versions  # noqa: TID252 - as `modules` for type checkers
from .._package_transactions import one_or_all  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import LISTING, split_arch  # noqa: TID252 - as `modules` for type checkers
from ._programs import call, choices, merged, on_offer

_OUTCOMES = {100: True, 0: None, 1: False}


def refresh_db(**kwargs: Any) -> bool | None:
    """Drop the cached metadata and look for updates: True (there are some), None (none) or False (failed).

    With ``check_update`` False only the metadata is dropped; returns True. ``fromrepo``, ``enablerepo``,
    ``disablerepo`` … choose the repositories.
    """
    __context__["pkg.refresh"] = False
    options = choices(**kwargs)
    call(["--quiet", "--assumeyes", "clean", "expire-cache", *options], ignore_retcode=True)
    if not kwargs.get("check_update", True):
        return True
    done = call(["--quiet", "--assumeyes", "check-update", *options], ignore_retcode=True)
    return _OUTCOMES.get(done["retcode"], False)


def latest_version(*names: str, **kwargs: Any) -> Any:
    """Return the version each package could be upgraded to, "" if it is up to date; of a single name the version.

    The repositories are refreshed first unless ``refresh`` is False; ``fromrepo`` queries one of them only.
    """
    if not names:
        return ""
    if kwargs.pop("refresh", True):
        refresh_db(**kwargs)
    installed = LISTING.get(versions_as_list=True)
    offered = merged(on_offer("--available", *choices(**kwargs), *names))
    return one_or_all(names, _rpm_versions.newer(names, offered, installed))


def upgrade_available(name: str, **kwargs: Any) -> bool:
    """Return whether there is a newer version of a package."""
    return bool(latest_version(name, **kwargs))


def list_upgrades(refresh: bool = True, **kwargs: Any) -> dict[str, str]:
    """Return the packages an upgrade would change, and their new versions."""
    if refresh:
        refresh_db(check_update=False, **kwargs)
    newer = merged(on_offer("--upgrades", *choices(**kwargs)))
    return {name: versions[0] for name, versions in newer.items()}


def list_repo_pkgs(*names: str, **kwargs: Any) -> dict[str, Any]:
    """Return the versions of each package in the repositories, newest first; names may be globs, none means all.

    ``byrepo`` returns them by repository; ``fromrepo`` (one, or several separated by commas), ``enablerepo`` and
    ``disablerepo`` choose repositories; ``cacheonly`` fetches nothing.
    """
    offline = ["-C"] if kwargs.get("cacheonly") else []
    found = on_offer("--available", *offline, *choices(**kwargs), *names)
    if names:
        found = {
            repository: {name: versions for name, versions in packages.items() if _is_meant(name, names)}
            for repository, packages in found.items()
        }
    return found if kwargs.get("byrepo") else merged(found)


def _is_meant(name: str, patterns: tuple[str, ...]) -> bool:
    plain = split_arch(name)[0]
    return any(fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(plain, pattern) for pattern in patterns)
