"""The ``pkg`` execution module of Alpine Linux: apk.

apk keeps a list of the wanted packages (``/etc/apk/world``) and makes the system match it: packages that are no longer
needed are removed automatically, and a requested version stays in the list.
"""

from __future__ import annotations

import fnmatch
import re
from functools import cmp_to_key, partial
from typing import Any

from asyncstate.dunders import __context__, __grains__, __opts__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.pkg import PkgInterface

from ._package_listing import Listing, Versions
from ._package_transactions import Transaction, changes, one_or_all, reason, to_remove
from ._version_conditions import is_condition, newest_match

__virtualname__ = PkgInterface(__name__)()
__smi_grains__ = {"os": "Alpine", "os_family": "Alpine"}

_LOCK_TIMEOUT = 600
_DOWNLOADS = "/var/cache/apk"
_NAME_AND_VERSION = re.compile(r"^(?P<name>\S+?)-(?P<version>\d[^-\s]*(?:-r\d+)?)$")
_UPGRADABLE = re.compile(r"^(?P<installed>\S+)\s+<\s+(?P<newer>\S+)")
_ORDER = {"<": -1, "=": 0, ">": 1}
_FETCHED = re.compile(r"^fetch (\S+)")
_UNREACHABLE = re.compile(r"^(?:WARNING|ERROR): (?:Ignoring|fetching|opening) ([^\s:]+(?::\S*[^\s:])?)")


def __virtual__() -> Any:
    if __grains__.get("os_family") == "Alpine":
        return __virtualname__
    return False, "Module apk only works on Alpine Linux"


def refresh_db(**kwargs: Any) -> dict[str, bool]:
    """Fetch the package lists; return for each address whether that worked. CommandExecutionError if all failed."""
    __context__["pkg.refresh"] = False
    done = _call(["update"])
    found = {match[1]: True for match in map(_FETCHED.match, str(done["stdout"]).splitlines()) if match}
    failed = {match[1]: False for match in map(_UNREACHABLE.match, str(done["stderr"]).splitlines()) if match}
    if done["retcode"] and not failed:
        raise CommandExecutionError(f"Error refreshing package database: {reason(done)}")
    return {**found, **failed}


def list_pkgs(versions_as_list: bool = False, removed: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Return the installed packages and their versions.

    apk is queried again only after a change (``use_context: False`` always queries).
    """
    return _LISTING.get(versions_as_list, removed=removed, **kwargs)


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of each name, "" for none; of a single name the version itself."""
    return __salt__["pkg_resource.version"](*names, **kwargs)


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any) -> int:
    """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second.

    If one of them has no release (``-r1``), the release of the other is ignored. CommandExecutionError if apk does not
    accept one as a version.
    """
    return _compare(str(pkg1), str(pkg2))


def latest_version(*names: str, **kwargs: Any) -> Any:
    """Return the version each package could be upgraded to, "" if it is up to date; of a single name the version.

    The lists are refreshed first unless ``refresh`` is False.
    """
    if not names:
        return ""
    if kwargs.get("refresh", True):
        refresh_db()
    installed = _LISTING.get(versions_as_list=True)
    offered = list_repo_pkgs(*names)
    found = {}
    for name in names:
        newest = next(iter(offered.get(name, ())), "")
        current = installed.get(name, [])
        found[name] = newest if newest and all(_compare(each, newest) < 0 for each in current) else ""
    return one_or_all(names, found)


def available_version(*names: str, **kwargs: Any) -> Any:
    """The same as `latest_version`."""
    return latest_version(*names, **kwargs)


def upgrade_available(name: str, **kwargs: Any) -> bool:
    """Return whether there is a newer version of a package."""
    return bool(latest_version(name, **kwargs))


def list_upgrades(refresh: bool = True, **kwargs: Any) -> dict[str, str]:
    """Return the packages an upgrade would change, and their new versions."""
    if refresh:
        refresh_db()
    found = {}
    for line in _output(["version", "-l", "<"]).splitlines():
        match = _UPGRADABLE.match(line.strip())
        package = _NAME_AND_VERSION.match(match["installed"]) if match else None
        if match and package:
            found[package["name"]] = match["newer"]
    return found


def list_repo_pkgs(*names: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the versions of each package in the repositories, newest first; names may be globs, none means all."""
    found: Versions = {}
    for line in _output(["search", "--all", "--exact", *names] if names else ["search", "--all"]).splitlines():
        match = _NAME_AND_VERSION.match(line.split(" ")[0])
        if match and (not names or any(fnmatch.fnmatchcase(match["name"], each) for each in names)):
            found.setdefault(match["name"], []).append(match["version"])
    return {name: _newest_first(versions) for name, versions in found.items()}


def install(
    name: str | None = None, refresh: bool = False, pkgs: Any = None, sources: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Install packages and return what changed, ``{package: {"old": …, "new": …}}``.

    ``name`` (with ``version``), ``pkgs`` or ``sources``. A version may be a condition (``>=1.2``) or a glob. Installed
    packages are upgraded only if a version requires it. CommandExecutionError if anything failed; its ``info`` has
    ``errors`` and ``changes``.
    """
    targets, kind = __salt__["pkg_resource.parse_targets"](
        name, pkgs, sources, saltenv=kwargs.get("saltenv", "base"), version=kwargs.get("version")
    )
    if not targets:
        return {}
    if refresh:
        refresh_db()
    transaction = Transaction(_LISTING, partial(_call, env=kwargs.get("env")))
    if kind == "file":
        arguments = [*targets]
        untrusted = ["--allow-untrusted"] if kwargs.get("skip_verify") else []
    else:
        arguments, transaction.errors[:] = _arguments(targets)
        untrusted = []
    if arguments and kwargs.get("downloadonly"):
        transaction.run("fetch", "--recursive", "--output", _DOWNLOADS, *arguments)
    elif arguments:
        transaction.run("add", "--upgrade", *untrusted, *arguments)
    again = [each for each in targets if kwargs.get("reinstall") and each in transaction.before]
    if again:
        transaction.run("fix", "--reinstall", *again)
    return transaction.finish("Problem encountered installing package(s)", reinstalled=again)


def remove(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Remove packages and the dependencies that only they needed; return what changed."""
    return _uninstall([], name, pkgs, **kwargs)


def purge(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Remove packages with configuration files that were changed by hand, and return what changed."""
    return _uninstall(["--purge"], name, pkgs, **kwargs)


def upgrade(refresh: bool = True, **kwargs: Any) -> dict[str, Any]:
    """Upgrade all packages, or those of the list ``pkgs``, and return what changed."""
    if refresh:
        refresh_db()
    old = _LISTING.get()
    only = list(__salt__["pkg_resource.pack_pkgs"](kwargs["pkgs"])) if kwargs.get("pkgs") else []
    result = _call(["add", "--upgrade", *only] if only else ["upgrade"], env=kwargs.get("env"))
    _LISTING.forget()
    done = changes(old, _LISTING.get())
    if result["retcode"]:
        raise CommandExecutionError("Problem encountered upgrading packages", {"changes": done, "result": result})
    return done


def owner(*paths: str, **kwargs: Any) -> Any:
    """Return the package each path belongs to, "" for none; of a single path the package itself."""
    if not paths:
        return ""
    found = {}
    for path in paths:
        _, _, package = _output(["info", "--who-owns", path]).partition(" is owned by ")
        match = _NAME_AND_VERSION.match(package.strip())
        found[path] = match["name"] if match else package.strip()
    return one_or_all(paths, found)


def file_list(*packages: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the files of the named packages: ``{"errors": […], "files": […]}``."""
    found = file_dict(*packages)
    return {"errors": found["errors"], "files": sorted({path for each in found["packages"].values() for path in each})}


def file_dict(*packages: str, **kwargs: Any) -> dict[str, Any]:
    """Return the files of the named packages by package, ``{"errors": […], "packages": {…}}``."""
    installed = _LISTING.get()
    found = {}
    for package in packages or tuple(installed):
        if package in installed:
            lines = _output(["info", "--contents", "--quiet", package]).splitlines()
            found[package] = [f"/{line.strip()}" for line in lines if line.strip()]
    errors = [f"package {package} is not installed" for package in packages if package not in installed]
    return {"errors": errors, "packages": found}


def info_installed(*names: str, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return ``name``, ``version``, ``description``, ``url`` and ``size`` of installed packages, all or those named."""
    installed = _LISTING.get()
    found = {}
    for name in names or tuple(installed):
        if name in installed:
            details = {"description": "--description", "url": "--webpage", "size": "--size"}
            about = {key: _output(["info", "--quiet", option, name]).strip() for key, option in details.items()}
            found[name] = {"name": name, "version": installed[name], **about}
    return found


def _uninstall(options: list[str], name: str | None, pkgs: Any, **kwargs: Any) -> dict[str, Any]:
    transaction = Transaction(_LISTING, partial(_call, env=kwargs.get("env")))
    targets = to_remove(name, pkgs, transaction.before)
    if not targets:
        return {}
    transaction.run("del", *options, *targets)
    return transaction.finish("Problem encountered removing package(s)")


def _arguments(targets: dict[str, str | None]) -> tuple[list[str], list[str]]:
    """Return apk's arguments for the packages to install, and the versions that cannot be met."""
    conditions = [name for name, version in targets.items() if is_condition(version)]
    available = list_repo_pkgs(*conditions) if conditions else {}
    arguments, errors = [], []
    for name, version in targets.items():
        number = version
        if version is not None and name in conditions:
            number = newest_match(version, available.get(name, ()), _compare)
            if number is None:
                offered = ", ".join(available.get(name, ())) or "none"
                errors.append(f"No version matching '{version}' found for package '{name}' (available: {offered})")
                continue
        arguments.append(name if number is None else f"{name}={number.lstrip('=')}")
    return arguments, errors


def _compare(first: str, second: str) -> int:
    if first == second:
        return 0
    if ("-r" in first) != ("-r" in second):
        first, second = first.partition("-r")[0], second.partition("-r")[0]
    answer = _output(["version", "--test", first, second]).strip()
    if answer not in _ORDER:
        raise CommandExecutionError(f"apk cannot compare the versions {first!r} and {second!r}")
    return _ORDER[answer]


def _newest_first(versions: list[str]) -> list[str]:
    return sorted(set(versions), key=cmp_to_key(_compare), reverse=True)


def _query() -> Versions:
    matches = (_NAME_AND_VERSION.match(line.strip()) for line in _output(["info", "--verbose"]).splitlines())
    found: Versions = {}
    for match in filter(None, matches):
        found.setdefault(match["name"], []).append(match["version"])
    return found


_LISTING = Listing(_query, "/lib/apk/db/installed", "/usr/lib/apk/db/installed")


def _call(arguments: list[str], *, env: Any = None, **options: Any) -> dict[str, Any]:
    """Run apk, which itself waits for a process that holds its lock, at most ``apk_lock_timeout`` seconds (600)."""
    patience = str(int(__opts__.get("apk_lock_timeout", _LOCK_TIMEOUT)))
    environment = {"LC_ALL": "C", **(env if isinstance(env, dict) else {})}
    done: dict[str, Any] = __salt__["cmd.run_all"](
        ["apk", "--no-progress", "--wait", patience, *arguments], python_shell=False, env=environment, **options
    )
    return done


def _output(arguments: list[str]) -> str:
    return str(_call(arguments, ignore_retcode=True, output_loglevel="trace")["stdout"])
