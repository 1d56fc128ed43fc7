"""``pkg.latest`` and ``pkg.uptodate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, make_row, unchanged, would_change
from asyncstate.errors import CommandExecutionError, InvocationError

from ._comments import listed
from ._refresh import refresh_wanted
from ._targets import predicted, refused, resolve_capabilities

_MANY = 10


def latest(
    name: str,
    refresh: Any = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    pkgs: Any = None,
    watch_flags: bool = True,
    **kwargs: Any,
) -> Row:
    """The package, or those of the list ``pkgs``, are installed in the newest available version.

    The keywords for the package manager are those of ``pkg.installed``.
    """
    if kwargs.get("sources"):
        return failed(name, 'The "sources" parameter is not supported.')
    if isinstance(pkgs, list) and not pkgs:
        return unchanged(name, "No packages to install provided")
    kwargs["saltenv"] = str(__env__)
    try:
        packed = __salt__["pkg_resource.pack_pkgs"](pkgs or [name])
        desired = list(packed) if pkgs else [name]
    except (InvocationError, CommandExecutionError) as error:
        return failed(name, str(error))
    if not desired:
        return failed(name, 'Invalidly formatted "pkgs" parameter. See minion log.')
    desired, refreshing = resolve_capabilities(desired, refresh=refresh_wanted(refresh), **kwargs)
    try:
        offered = _by_name(
            __salt__["pkg.latest_version"](*desired, fromrepo=fromrepo, refresh=refreshing, **kwargs), desired
        )
    except CommandExecutionError as error:
        checking = "checking the newest available version of package(s)"
        return failed(name, f"An error was encountered while {checking}: {error}")
    current = _by_name(__salt__["pkg.version"](*desired, **kwargs), desired)
    unknown = [package for package in desired if not offered.get(package) and not current.get(package)]
    if unknown:
        return failed(name, " ".join(f"No information found for '{package}'." for package in unknown))
    targets = {package: offered[package] for package in desired if offered.get(package)}
    if not targets:
        return unchanged(name, _all_up_to_date(desired))
    fresh = sorted(package for package in desired if package not in targets) if pkgs else []
    if is_dry_run():
        problem = refused(targets, fromrepo=fromrepo, skip_verify=skip_verify, **kwargs)
        return failed(name, problem) if problem else _dry_run(name, targets, fresh, current)
    try:
        changes = __salt__["pkg.install"](
            name=None, refresh=False, fromrepo=fromrepo, skip_verify=skip_verify, pkgs=list(targets), **kwargs
        )
    except CommandExecutionError as error:
        done = error.info.get("changes") if isinstance(error.info, Mapping) else None
        return failed(name, f"An error was encountered while installing package(s): {error}", done)
    return _outcome(name, targets, fresh, changes)


def uptodate(name: str, refresh: Any = False, pkgs: Any = None, **kwargs: Any) -> Row:
    """All packages, or those of the list ``pkgs``, are upgraded. ``dist_upgrade`` may add and remove others.

    The keywords for the package manager are those of ``pkg.installed``, and those of ``pkg.upgrade``: ``obsoletes``,
    ``minimal``, ``dryrun``, ``novendorchange``.
    """
    if "pkg.list_upgrades" not in __salt__:
        return failed(name, "State pkg.uptodate is not available")
    if not isinstance(refresh, bool):
        return failed(name, "refresh must be either True or False")
    pkgs, refresh = resolve_capabilities(pkgs, refresh=refresh, **kwargs)
    try:
        upgrades = __salt__["pkg.list_upgrades"](refresh=refresh, **kwargs)
        if isinstance(pkgs, list):
            wanted = __salt__["pkg_resource.pack_pkgs"](pkgs)
            upgrades = {package: version for package, version in upgrades.items() if package in wanted}
        expected = {
            package: {"new": version, "old": __salt__["pkg.version"](package, **kwargs)}
            for package, version in upgrades.items()
        }
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    if not expected:
        return unchanged(name, "System is already up-to-date")
    if is_dry_run():
        return would_change(name, "System update will be performed", expected)
    try:
        changes = __salt__["pkg.upgrade"](refresh=refresh, pkgs=pkgs, **kwargs)
    except CommandExecutionError as error:
        if isinstance(error.info, Mapping):
            return failed(name, error.strerror_without_changes, error.info.get("changes"))
        return failed(name, f"An error was encountered while updating packages: {error}")
    missing = [package for package in expected if package not in changes] if isinstance(pkgs, list) else []
    if missing:
        comment = f"The following package(s) failed to update: {listed(missing)}"
        return failed(name, comment, changes)
    return changed(name, "Upgrade ran successfully", changes)


def _by_name(versions: Any, names: list[str]) -> dict[str, str]:
    return {names[0]: versions} if isinstance(versions, str) else dict(versions)


def _all_up_to_date(desired: list[str]) -> str:
    if len(desired) > _MANY:
        return f"All {len(desired)} packages are up-to-date."
    if len(desired) > 1:
        return f"All packages are up-to-date ({listed(sorted(desired))})."
    return f"Package {desired[0]} is already up-to-date"


def _dry_run(name: str, targets: dict[str, str], fresh: list[str], current: Mapping[str, str]) -> Row:
    comments = ["The following packages would be installed/upgraded: " + listed(sorted(targets))]
    if len(fresh) > _MANY:
        comments.append(f"{len(fresh)} packages are already up-to-date")
    elif fresh:
        shown = listed(f"{package} ({current[package]})" for package in fresh)
        comments.append(f"The following packages are already up-to-date: {shown}")
    installed = {package: [version] for package, version in current.items() if version}
    return would_change(name, "\n".join(comments), predicted(dict(targets), installed))


def _outcome(name: str, targets: dict[str, str], fresh: list[str], changes: dict[str, Any]) -> Row:
    stale = [
        package
        for package, version in targets.items()
        if version not in (changes.get(package, {}).get("new") or "").split(",")
    ]
    unchanged = ""
    if len(fresh) > _MANY:
        unchanged = f"{len(fresh)} packages were already up-to-date"
    elif fresh:
        unchanged = f"The following packages were already up-to-date: {listed(fresh)}"
    comments = []
    if not changes:
        comments.append(_nothing_done(targets))
    else:
        done = sorted(package for package in targets if package not in stale)
        if stale:
            comments.append(f"The following packages failed to update: {listed(sorted(stale))}")
        if done:
            comments.append(f"The following packages were successfully installed/upgraded: {listed(done)}")
    if unchanged:
        comments.append(unchanged)
    return make_row(name, " ".join(comments), changes, result=not stale)


def _nothing_done(targets: dict[str, str]) -> str:
    if len(targets) > _MANY:
        return f"{len(targets)} targeted packages failed to update. See debug log for details."
    if len(targets) > 1:
        names = listed(sorted(targets))
        return f"The following targeted packages failed to update. See debug log for details: ({names})."
    return f"Package {next(iter(targets))} failed to update."
