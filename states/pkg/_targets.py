"""The packages that a state has to install."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, unchanged
from asyncstate.errors import CommandExecutionError, InvocationError

from ._comments import listed
from ._shares import list_pkgs
from ._versions import Versions, current_versions, fulfils

if TYPE_CHECKING:
    from collections.abc import Mapping


_OPERATORS = "<>=! "


class Targets(NamedTuple):
    """``desired`` has all packages of the state, ``current`` the installed ones; the others are the work to do."""

    desired: Versions
    install: Versions
    unpurge: list[str]
    reinstall: Versions
    current: Mapping[str, list[str]]
    refresh: bool


def find_targets(
    name: str,
    pkgs: Any,
    sources: Any,
    *,
    fromrepo: str | None,
    skip_suggestions: bool,
    normalize: bool,
    ignore_epoch: bool | None,
    reinstall: bool,
    refresh: bool,
    current: Mapping[str, list[str]] | None = None,
    **kwargs: Any,
) -> Targets | Row:
    """Compare the wanted packages with ``current`` (default: installed ones); return a row if the state ends there."""
    if pkgs and sources:
        return failed(name, 'Only one of "pkgs" and "sources" is permitted.')
    try:
        current = list_pkgs(**kwargs) if current is None else current
        desired = _desired(pkgs, sources, normalize=normalize)
        if not desired:
            what = "pkgs" if pkgs else "sources"
            return failed(name, f"Invalidly formatted '{what}' parameter. See minion log.")
        bare = [f"{each}{version}" for each, version in desired.items() if version and not version.strip(_OPERATORS)]
        if bare and filesystem.judges():
            return failed(name, f"There is no version behind an operator: {listed(bare)}")
        purging = __salt__["pkg.list_pkgs"](purge_desired=True, **kwargs)
        if not sources and not skip_suggestions:
            unknown = _not_on_offer(desired, current, fromrepo, ignore_epoch, **kwargs)
            if unknown:
                return failed(name, unknown)
        latest = [] if sources else [package for package, version in desired.items() if version == "latest"]
        if latest:
            desired = {**desired, **_newest(latest, current, refresh=refresh, **kwargs)}
            refresh = False
    except InvocationError as error:
        return failed(name, str(error))
    except CommandExecutionError as error:
        return failed(name, error.strerror)
    provided = {}
    if kwargs.get("resolve_capabilities") and "pkg.list_provides" in __salt__:
        provided = __salt__["pkg.list_provides"](**kwargs)
    unpurge = [package for package in desired if package in purging]
    targets: Versions = {}
    again: Versions = {}
    problems = []
    versioned = False
    for package, version in desired.items():
        installed = current_versions(package, current, provided)
        if not installed:
            targets[package] = version
            continue
        if reinstall:
            again[package] = version
            continue
        try:
            wanted = _version_of_file(str(version), kwargs.get("saltenv", "base")) if sources else version
            wanted = __salt__["pkg_resource.version_clean"](wanted)
            if wanted is None:
                continue
            versioned = True
            updates = bool(kwargs.get("allow_updates")) and not sources
            if not fulfils(installed, wanted, ignore_epoch=ignore_epoch, allow_updates=updates):
                targets[package] = version
        except (CommandExecutionError, InvocationError) as error:
            problems.append(str(error))
    if problems:
        return failed(name, " ".join(problems))
    if not (targets or unpurge or again):
        suffix = " and are at the desired version" if versioned and not sources else ""
        return unchanged(name, f"All specified packages are already installed{suffix}")
    return Targets(desired, targets, unpurge, again, current, refresh)


def preflight(wanted: Versions, fromrepo: str | None, **kwargs: Any) -> str:
    """Return the reason why packages are not available, if the package manager can tell beforehand; else ""."""
    if not wanted or "pkg.check_db" not in __salt__:
        return ""
    try:
        about = __salt__["pkg.check_db"](*wanted, fromrepo=fromrepo, **kwargs)
    except CommandExecutionError:
        return ""
    missing = {package: facts["suggestions"] for package, facts in about.items() if facts["found"] is False}
    unknown = sorted(package for package, suggestions in missing.items() if not suggestions)
    comments = []
    if unknown:
        comments.append(
            "The following package(s) were not found, and no possible matches were found in the package db: "
            + listed(unknown)
        )
    comments += [
        f"Package '{package}' not found (possible matches: {listed(suggestions)})"
        for package, suggestions in missing.items()
        if suggestions
    ]
    return ". ".join([*comments, ""] if len(comments) > 1 else comments).rstrip()


def predicted(targets: Versions, current: Mapping[str, Any], *, refresh: bool = False) -> dict[str, Any]:
    """Return the changes that installing ``targets`` would bring, as far as the package manager can tell."""
    plain = [package for package, version in targets.items() if not version]
    offered: dict[str, str] = {}
    if plain:
        newest = __salt__["pkg.latest_version"](*plain, refresh=refresh)
        offered = {plain[0]: newest} if isinstance(newest, str) else dict(newest)
    exact = {package: version for package, version in targets.items() if version}
    available = __salt__["pkg.list_repo_pkgs"](*exact) if exact and "pkg.list_repo_pkgs" in __salt__ else {}
    for package, version in exact.items():
        fitting = [each for each in available.get(package, []) if fulfils([each], version)]
        if fitting:
            offered[package] = fitting[0]
    return {
        package: {"new": offered.get(package) or "installed", "old": ",".join(current_versions(package, current))}
        for package in targets
    }


def refused(targets: Mapping[str, str | None], **arguments: Any) -> str:
    """Return why the package manager will not install ``targets``; "" if it may, or if it cannot tell. For dry runs."""
    if not (targets and filesystem.foretells() and "pkg.refusal" in __salt__):
        return ""
    pkgs = [{package: version} for package, version in targets.items()]
    problem = __salt__["pkg.refusal"](pkgs=pkgs, **arguments)
    return f"An error was encountered while installing package(s): {problem}" if problem else ""


def _desired(pkgs: Any, sources: Any, *, normalize: bool) -> Versions:
    found: Versions
    if pkgs:
        found = __salt__["pkg_resource.pack_pkgs"](pkgs, normalize)
    else:
        found = __salt__["pkg_resource.pack_sources"](sources, normalize)
    return found


def _not_on_offer(
    desired: Versions,
    current: Mapping[str, list[str]],
    fromrepo: str | None,
    ignore_epoch: bool | None,
    **kwargs: Any,
) -> str:
    missing = {
        package: version
        for package, version in desired.items()
        if package not in current
        or (version is not None and not fulfils(current[package], version, ignore_epoch=ignore_epoch))
    }
    return preflight(missing, fromrepo, **kwargs)


def _newest(names: list[str], current: Mapping[str, list[str]], *, refresh: bool, **kwargs: Any) -> Versions:
    """Return the version that ``latest`` means: the newest available, else the installed one, else any.

    It may be installed as the share of this state in a common call, which ``current`` does not tell.
    """
    found = __salt__["pkg.latest_version"](*names, refresh=refresh, **kwargs)
    newest = {names[0]: found} if isinstance(found, str) else found
    there = {**__salt__["pkg.list_pkgs"](versions_as_list=True), **current}
    return {name: newest.get(name) or (there[name][-1] if name in there else None) for name in names}


def _version_of_file(source: str, saltenv: str) -> str:
    """Return the version of the package in a file or URL."""
    cached = __salt__["cp.cache_file"](source, saltenv=saltenv)
    if not cached:
        raise CommandExecutionError(f"Unable to cache {source}: file not found")
    if not os.path.exists(cached):
        raise CommandExecutionError(f"{source} does not exist on minion")
    return str(__salt__["lowpkg.bin_pkg_info"](cached)["version"])


def resolve_capabilities(pkgs: Any, *, refresh: bool, **kwargs: Any) -> tuple[Any, bool]:
    """Replace capabilities by the packages that provide them, if the package manager supports such names."""
    if not pkgs or "pkg.resolve_capabilities" not in __salt__:
        return pkgs, refresh
    return __salt__["pkg.resolve_capabilities"](pkgs, refresh=refresh, **kwargs), False
