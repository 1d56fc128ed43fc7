"""The ``pkg`` execution module of Arch Linux: pacman.

No program asks a question; configuration files that were changed by hand are kept, with the new ones beside them as
``.pacnew``.
"""

from __future__ import annotations

import fnmatch
import os
import re
import time
from functools import partial
from typing import Any

from asyncstate.dunders import __context__, __grains__, __opts__, __salt__, check_cancelled
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.pkg import PkgInterface

from . import _alpm_versions
from ._package_listing import Downloads, Listing, Versions
from ._package_transactions import Transaction, changes, one_or_all, reason, to_remove
from ._version_conditions import is_condition, newest_first, newest_match

__virtualname__ = PkgInterface(__name__)()
__smi_grains__ = {"os": "Arch", "os_family": "Arch"}

_LOCKED = "unable to lock database"
_LOCK_TIMEOUT = 600
_LOCK_PAUSE = 2.0
_CACHE = "var/cache/pacman/pkg"
_PACKAGE_FILE = re.compile(r"^(?P<name>.+)-(?P<version>[^-]+-[^-]+)-[^-]+\.pkg\.tar(?:\.\w+)?$")


def __virtual__() -> Any:
    if __grains__.get("os_family") == "Arch":
        return __virtualname__
    return False, "The pacman module could not be loaded: unsupported OS family."


def refresh_db(**kwargs: Any) -> dict[str, bool]:
    """Fetch the package lists; return for each repository whether it was new. CommandExecutionError if pacman fails."""
    __context__["pkg.refresh"] = False
    done = _call(["-Sy"])
    if done["retcode"]:
        raise CommandExecutionError(f"Error refreshing package database: {reason(done)}")
    found: dict[str, bool] = {}
    for line in map(str.strip, str(done["stdout"]).splitlines()):
        words = line.split()
        if not words or line.startswith("::"):
            continue
        if "is up to date" in line:
            found[words[0]] = False
        elif words[-1].startswith("downloading"):
            found[words[0].removesuffix(".db")] = True
        elif words[0] == "downloading" and len(words) > 1:
            found[words[1].partition(".")[0]] = True
    return found


def list_pkgs(versions_as_list: bool = False, removed: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Return the installed packages and their versions.

    pacman is queried again only after a change (``use_context: False`` always queries).
    """
    return _LISTING.get(versions_as_list, removed=removed, **kwargs)


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of each name, "" for none; of a single name the version itself."""
    return __salt__["pkg_resource.version"](*names, **kwargs)


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any) -> int:
    """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
    return _alpm_versions.compare(str(pkg1), str(pkg2), ignore_epoch=ignore_epoch)


def latest_version(*names: str, **kwargs: Any) -> Any:
    """Return the version each package could be upgraded to, "" if it is up to date; of a single name the version.

    The lists are refreshed first only if ``refresh`` is True: for pacman, an upgrade of everything should follow.
    """
    if not names:
        return ""
    if kwargs.get("refresh"):
        refresh_db()
    installed = _LISTING.get(versions_as_list=True)
    offered = list_repo_pkgs(*names)
    found = {}
    for name in names:
        newest = next(iter(offered.get(name, ())), "")
        current = installed.get(name, [])
        found[name] = newest if all(_alpm_versions.compare(each, newest) < 0 for each in current) else ""
    return one_or_all(names, found)


def available_version(*names: str, **kwargs: Any) -> Any:
    """The same as `latest_version`."""
    return latest_version(*names, **kwargs)


def upgrade_available(name: str, **kwargs: Any) -> bool:
    """Return whether there is a newer version of a package."""
    return bool(latest_version(name, **kwargs))


def list_upgrades(refresh: bool = False, **kwargs: Any) -> dict[str, str]:
    """Return the packages an upgrade would change, and their new versions."""
    done = _call(["-S", "-p", "-u", "--print-format", "%n %v", *(["-y"] if refresh else [])])
    if done["retcode"]:
        raise CommandExecutionError(f"Error listing upgrades: {reason(done)}")
    rows = [line.split() for line in str(done["stdout"]).splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2 and "downloading" not in row[0] and ".db" not in row[1]}


def list_repo_pkgs(*names: str, **kwargs: Any) -> dict[str, Any]:
    """Return the versions of each package in the repositories, newest first; names may be globs, none means all.

    ``byrepo`` returns them by repository; ``fromrepo`` (separated by commas) queries only these; ``refresh`` fetches
    the lists first.
    """
    if kwargs.get("refresh"):
        refresh_db()
    only = [each.strip() for each in str(kwargs.get("fromrepo") or "").split(",") if each.strip()]
    found: dict[str, Versions] = {}
    for line in _output(["-Sl"]).splitlines():
        words = line.split()
        if len(words) < 3 or (only and words[0] not in only):
            continue
        if not names or any(fnmatch.fnmatchcase(words[1], each) for each in names):
            found.setdefault(words[0], {}).setdefault(words[1], []).append(words[2])
    if kwargs.get("byrepo"):
        return found
    together: Versions = {}
    for packages in found.values():
        for name, versions in packages.items():
            together.setdefault(name, []).extend(versions)
    return {name: newest_first(versions, _alpm_versions.compare) for name, versions in together.items()}


def install(
    name: str | None = None,
    refresh: bool = False,
    sysupgrade: bool | None = None,
    pkgs: Any = None,
    sources: Any = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Install packages and return what changed, ``{package: {"old": …, "new": …}}``; in the cache if ``downloadonly``.

    ``name`` (with ``version``), ``pkgs`` or ``sources``. A version may be a condition (``>=1.2``) or a glob; pacman has
    only the newest of each repository. ``sysupgrade`` also upgrades everything else. CommandExecutionError if anything
    failed; its ``info`` has ``errors`` and ``changes``.
    """
    targets, kind = __salt__["pkg_resource.parse_targets"](
        name, pkgs, sources, saltenv=kwargs.get("saltenv", "base"), version=kwargs.get("version")
    )
    if not targets:
        return {}
    if kwargs.get("fromrepo") and kind != "file":
        targets = {f"{kwargs['fromrepo']}/{each}": number for each, number in targets.items()}
    listing = Downloads() if kwargs.get("downloadonly") else _LISTING
    transaction = Transaction(listing, partial(_call, env=kwargs.get("env")))
    common = ["--noprogressbar", "--noconfirm", *(["--downloadonly"] if kwargs.get("downloadonly") else [])]
    if kind == "file":
        transaction.run("-U", *common, *targets)
        return transaction.finish("Problem encountered installing package(s)")
    if refresh:
        refresh_db()
    arguments, transaction.errors[:] = _arguments(targets)
    if not transaction.errors:
        needed = [] if kwargs.get("reinstall") else ["--needed"]
        transaction.run("-S", *(["-u"] if sysupgrade else []), *common, *needed, *arguments)
    again = [each for each in targets if kwargs.get("reinstall") and each in transaction.before]
    return transaction.finish("Problem encountered installing package(s)", reinstalled=again)


def remove(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Remove packages and return what changed."""
    return _uninstall(["-R"], name, pkgs, **kwargs)


def purge(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Remove packages, the packages that depend on them, and their unneeded dependencies; return what changed."""
    return _uninstall(["-Rsc"], name, pkgs, **kwargs)


def upgrade(refresh: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Upgrade all packages, or those of the list ``pkgs``, and return what changed."""
    old = _LISTING.get()
    fetch = ["-y"] if refresh else []
    if kwargs.get("pkgs"):
        only = list(__salt__["pkg_resource.pack_pkgs"](kwargs["pkgs"]))
        result = _call(["-S", *fetch, "--noprogressbar", "--noconfirm", "--needed", *only], env=kwargs.get("env"))
    else:
        result = _call(["-Su", *fetch, "--noprogressbar", "--noconfirm"], env=kwargs.get("env"))
    _LISTING.forget()
    done = changes(old, _LISTING.get())
    if result["retcode"]:
        raise CommandExecutionError("Problem encountered upgrading packages", {"changes": done, "result": result})
    return done


def autoremove(list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that are no longer needed and return what changed; with ``list_only``, return their names.

    ``purge`` keeps no copy of configuration files that were changed by hand.
    """
    names = sorted(_output(["-Qdtq"]).split())
    if list_only:
        return names
    transaction = Transaction(_LISTING, _call)
    if names:
        transaction.run("-Rsn" if purge else "-Rs", "--noprogressbar", "--noconfirm", *names)
    return transaction.finish("Problem encountered removing package(s)")


def owner(*paths: str, **kwargs: Any) -> Any:
    """Return the package each path belongs to, "" for none; of a single path the package itself."""
    if not paths:
        return ""
    return one_or_all(paths, {path: _output(["-Qqo", path]).strip() for path in paths})


def file_list(*packages: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the files of the named packages, of all if none is named: ``{"errors": […], "files": […]}``."""
    found = file_dict(*packages)
    return {"errors": found["errors"], "files": [path for each in found["packages"].values() for path in each]}


def file_dict(*packages: str, **kwargs: Any) -> dict[str, Any]:
    """Return the files of the named packages by package, ``{"errors": […], "packages": {…}}``."""
    done = _call(["-Ql", *packages], ignore_retcode=True, output_loglevel="trace")
    found: dict[str, list[str]] = {}
    for line in str(done["stdout"]).splitlines():
        package, _, path = line.partition(" ")
        found.setdefault(package, []).append(path)
    errors = [line for line in str(done["stderr"]).splitlines() if line.startswith("error")]
    return {"errors": errors, "packages": found}


def info_installed(*names: str, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return pacman's facts about installed packages, all or those named, with its field names in lower case."""
    found: dict[str, dict[str, Any]] = {}
    for stanza in re.split(r"\n\s*\n", _output(["-Qi", *names])):
        facts: dict[str, Any] = {}
        for line in stanza.splitlines():
            key, colon, value = line.partition(" : ")
            if colon and key.strip():
                facts[key.strip().lower().replace(" ", "_")] = value.strip()
        if "name" in facts:
            found[facts["name"]] = facts
    return found


def list_downloaded(root: str | None = None, **kwargs: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the package files in pacman's cache by package and version: ``path`` and ``size``."""
    folder = os.path.join(root or "/", _CACHE)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        match = _PACKAGE_FILE.match(name)
        if match:
            path = os.path.join(folder, name)
            about = {"path": path, "size": os.path.getsize(path)}
            found.setdefault(match["name"], {})[match["version"]] = about
    return found


def _uninstall(how: list[str], name: str | None, pkgs: Any, **kwargs: Any) -> dict[str, Any]:
    transaction = Transaction(_LISTING, partial(_call, env=kwargs.get("env")))
    targets = to_remove(name, pkgs, transaction.before)
    if not targets:
        return {}
    transaction.run(*how, "--noprogressbar", "--noconfirm", *targets)
    return transaction.finish("Problem encountered removing package(s)")


def _arguments(targets: dict[str, str | None]) -> tuple[list[str], list[str]]:
    """Return pacman's arguments for the packages to install, and the versions that cannot be met."""
    conditions = {name: version for name, version in targets.items() if is_condition(version)}
    plain = {name: name.rpartition("/")[2] for name in conditions}
    available = list_repo_pkgs(*plain.values()) if conditions else {}
    arguments, errors = [], []
    for name, version in targets.items():
        number = version
        if version is not None and name in conditions:
            offered = available.get(plain[name], [])
            number = newest_match(version, offered, _alpm_versions.compare)
            if number is None:
                errors.append(
                    f"No version matching '{version}' found for package '{plain[name]}' "
                    f"(available: {', '.join(offered) or 'none'})"
                )
                continue
        arguments.append(name if number is None else f"{name}={number.lstrip('=')}")
    return arguments, errors


def _query() -> Versions:
    rows = [line.split() for line in _output(["-Q"]).splitlines()]
    return {row[0]: [row[1]] for row in rows if len(row) >= 2}


_LISTING = Listing(_query, "/var/lib/pacman/local")


def _call(arguments: list[str], *, env: Any = None, **options: Any) -> dict[str, Any]:
    """Run pacman; retry while another process holds its lock, for at most ``pacman_lock_timeout`` seconds (600)."""
    deadline = time.monotonic() + float(__opts__.get("pacman_lock_timeout", _LOCK_TIMEOUT))
    environment = {"LC_ALL": "C", "LANG": "C", **(env if isinstance(env, dict) else {})}
    while True:
        check_cancelled()
        done: dict[str, Any] = __salt__["cmd.run_all"](
            ["pacman", *arguments], python_shell=False, env=environment, **options
        )
        if _LOCKED not in str(done["stderr"]) or time.monotonic() + _LOCK_PAUSE > deadline:
            return done
        time.sleep(_LOCK_PAUSE)


def _output(arguments: list[str]) -> str:
    return str(_call(arguments, ignore_retcode=True, output_loglevel="trace")["stdout"])
