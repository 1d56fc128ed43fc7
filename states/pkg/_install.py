"""``pkg.installed`` and ``pkg.downloaded``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import (
    Row,
    __env__,
    __salt__,
    changed,
    failed,
    is_dry_run,
    make_row,
    not_told,
    unchanged,
    would_change,
)
from asyncstate.errors import CommandExecutionError, InvocationError

from ._comments import failure, listed, with_version
from ._refresh import refresh_wanted
from ._shares import list_pkgs
from ._targets import Targets, find_targets, predicted, preflight, refused, resolve_capabilities
from ._transaction import install
from ._versions import Versions, fulfils, verify_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHORT = 20
_BEFORE_REFRESH = "This cannot be told before the run has refreshed the lists of packages."
"""The comment of a dry run on versions that the present lists lack; packages without one refresh them, as in Salt."""


def installed(
    name: str,
    version: Any = None,
    refresh: Any = None,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    skip_suggestions: bool = False,
    pkgs: Any = None,
    sources: Any = None,
    allow_updates: bool = False,
    pkg_verify: Any = False,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    reinstall: bool = False,
    update_holds: bool = False,
    **kwargs: Any,
) -> Row:
    """The package ``name``, or those of the list ``pkgs`` or ``sources``, are installed, in ``version`` if given.

    A version may be a glob or a condition (``>=1.2,<2``), or ``latest``; ``allow_updates`` accepts a newer one too.
    ``sources`` are package files: ``- name: salt://path``. ``hold`` holds the packages at their version (or, if False,
    releases them). The lists of packages are refreshed once in a run; always if ``refresh`` is True, never if False.

    The package manager gets these keywords, as far as it knows them: ``resolve_capabilities``, ``split_arch``,
    ``verify_ssl``, ``failhard``, ``downloadonly``, ``download_only``, ``env``, ``root``, ``options``; of apt
    ``install_recommends``, ``only_upgrade``, ``force_yes``, ``force_conf_new``, ``cache_valid_time``, ``debconf``,
    ``allow_downgrades``; of dnf and yum ``enablerepo``, ``disablerepo``, ``disableexcludes``, ``repo``, ``branch``,
    ``setopt``, ``cacheonly``, ``osarch``, ``all_versions``; of zypper ``no_recommends``, ``ignore_repo_failure``,
    ``no_repo_failure``, ``gpgautoimport``; of pacman ``sysupgrade``; and those of ``pkg.install``.
    """
    if isinstance(pkgs, list) and not pkgs:
        return unchanged(name, "No packages to install provided")
    if pkg_verify:
        return failed(name, "pkg.verify not implemented")
    if not pkgs and not sources:
        pkgs = [{name: version}] if version else [name]
    kwargs["saltenv"] = str(__env__)
    pkgs, refreshing = resolve_capabilities(pkgs, refresh=refresh_wanted(refresh), **kwargs)
    kwargs["allow_updates"] = allow_updates
    found = find_targets(
        name,
        pkgs,
        sources,
        fromrepo=fromrepo,
        skip_suggestions=skip_suggestions,
        normalize=normalize,
        ignore_epoch=ignore_epoch,
        reinstall=reinstall,
        refresh=refreshing,
        **kwargs,
    )
    if not isinstance(found, Targets):
        return _with_hold(found, name, pkgs, sources, kwargs)
    if found.unpurge and "lowpkg.unpurge" not in __salt__:
        return failed(name, "lowpkg.unpurge not implemented")
    chosen = {**found.install, **found.reinstall}
    how: dict[str, Any] = {
        "fromrepo": fromrepo,
        "skip_verify": skip_verify,
        "reinstall": bool(found.reinstall),
        "normalize": normalize,
        "ignore_epoch": ignore_epoch,
        "split_arch": False,
        **kwargs,
    }
    if is_dry_run():
        row = _dry_run(name, found, sources, reinstall=reinstall)
        problem = refused(chosen, **how) if row["result"] is None and not sources else ""
        return _refusal(name, problem, stale=found.refresh and all(found.install.values())) if problem else row
    order: dict[str, Any] = {
        "pkgs": [{package: wanted} for package, wanted in chosen.items()] if not sources else None,
        "sources": [{package: path} for package, path in chosen.items()] if sources else None,
    }
    changes: dict[str, Any] = {}
    if chosen:
        try:
            changes = install(
                name=None,
                refresh=found.refresh,
                version=None,
                update_holds=update_holds,
                **order,
                **how,
            )
        except CommandExecutionError as error:
            return failure(name, error, "installing")
        except InvocationError as error:
            return failed(name, str(error))
    return _outcome(name, found, changes, sources, ignore_epoch=ignore_epoch, reinstall=reinstall, **kwargs)


def downloaded(
    name: str,
    version: Any = None,
    pkgs: Any = None,
    fromrepo: str | None = None,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Row:
    """The files of packages are in the package manager's cache, ready to be installed.

    ``normalize``, ``refresh`` (default: False), ``skip_suggestions`` and the keywords for the package manager are as in
    ``pkg.installed``.
    """
    if "pkg.list_downloaded" not in __salt__:
        return failed(name, "The pkg.downloaded state is not available on this platform")
    if isinstance(pkgs, list) and not pkgs:
        return unchanged(name, "No packages to download provided")
    pkgs = pkgs or ([{name: version}] if version else [name])
    kwargs.pop("downloadonly", None)
    refresh = refresh_wanted(kwargs.pop("refresh", False))
    pkgs, _ = resolve_capabilities(pkgs, refresh=False, **kwargs)
    try:
        wanted: Versions = __salt__["pkg_resource.pack_pkgs"](pkgs, kwargs.pop("normalize", True))
        cached = __salt__["pkg.list_downloaded"](**kwargs)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    if not wanted:
        return failed(name, "Invalidly formatted pkgs parameter. See minion log.")
    unknown = "" if kwargs.pop("skip_suggestions", False) else preflight(wanted, fromrepo, **kwargs)
    if unknown:
        return failed(name, unknown)
    targets = {
        package: number
        for package, number in wanted.items()
        if not cached.get(package) or (number and not fulfils(list(cached[package]), number, ignore_epoch=ignore_epoch))
    }
    if not targets:
        versioned = any(wanted.values())
        suffix = " (matching specified versions)" if versioned else ""
        return unchanged(name, f"All specified packages{suffix} are already downloaded")
    if is_dry_run():
        comment = f"The following packages would be downloaded: {listed(targets)}"
        problem = refused(targets, fromrepo=fromrepo, ignore_epoch=ignore_epoch, **kwargs)
        return _refusal(name, problem, stale=refresh) if problem else would_change(name, comment)
    try:
        changes = __salt__["pkg.install"](
            name=name,
            pkgs=pkgs,
            refresh=refresh,
            downloadonly=True,
            fromrepo=fromrepo,
            ignore_epoch=ignore_epoch,
            **kwargs,
        )
    except CommandExecutionError as error:
        return failure(name, error, "downloading")
    now = {package: list(files) for package, files in __salt__["pkg.list_downloaded"](**kwargs).items()}
    _, left = verify_install(targets, now, ignore_epoch=ignore_epoch)
    if left:
        missing = listed(with_version(package, targets) for package in left)
        return failed(name, f"The following packages failed to download: {missing}", changes)
    return changed(name, f"Packages downloaded: {listed(targets)}", changes)


def _refusal(name: str, problem: str, *, stale: bool) -> Row:
    """Return the row of a dry run whose run fails with the present lists of packages; ``stale``: it renews them."""
    return not_told(name, f"{_BEFORE_REFRESH} Now: {problem}") if stale else failed(name, problem)


def _dry_run(name: str, found: Targets, sources: Any, *, reinstall: bool) -> Row:
    comments = []
    changes: dict[str, Any] = {}
    for path in found.install.values() if sources and filesystem.foretells() else ():
        if path and path.startswith("/") and not filesystem.exists(path):
            return failed(
                name, f"An error was encountered while installing package(s): {path} does not exist on minion"
            )
    if found.install:
        try:
            changes = (
                {package: {"new": "installed", "old": ""} for package in found.install}
                if sources
                else predicted(found.install, found.current, refresh=found.refresh)
            )
        except CommandExecutionError as error:
            return failed(name, error.strerror)
        comments.append(f"The following packages would be installed/updated: {listed(found.install)}")
    if found.unpurge:
        unpurged = listed(found.unpurge)
        comments.append(
            f"The following packages would have their selection status changed from 'purge' to 'install': {unpurged}"
        )
        changes.update({package: {"new": "installed", "old": ""} for package in found.unpurge})
    if reinstall and found.reinstall:
        names = [package if sources else with_version(package, found.reinstall) for package in found.reinstall]
        comments.append(f"The following packages would be reinstalled: {listed(names)}")
        changes.update({each: {"new": "installed", "old": ""} for each in names})
    return would_change(name, "\n".join(comments), changes)


def _outcome(
    name: str,
    found: Targets,
    changes: dict[str, Any],
    sources: Any,
    *,
    ignore_epoch: bool | None,
    reinstall: bool,
    **kwargs: Any,
) -> Row:
    """Compare the wanted packages with those installed now, and return the row."""
    holds: list[Row] = []
    comments: list[str] = []
    again = set(changes) & set(found.reinstall)
    if "hold" in kwargs and "pkg.hold" in __salt__:
        try:
            holds = list(_set_hold(kwargs["hold"], name=name, pkgs=found.desired).values())
        except (CommandExecutionError, InvocationError) as error:
            return failed(name, str(error), changes)
    if found.unpurge:
        changes["purge_desired"] = __salt__["lowpkg.unpurge"](*found.unpurge)
    if sources:
        fitting = [package for package in found.desired if package in changes or package not in found.install]
    else:
        now = list_pkgs(**kwargs)
        fitting, _ = verify_install(found.desired, now, ignore_epoch=ignore_epoch)
    missing = [package for package in found.install if package not in fitting]
    modified = [package for package in fitting if package in found.install]
    kept = [package for package in fitting if package not in {*found.install, *found.reinstall}]

    def named(packages: Iterable[str]) -> str:
        return listed(package if sources else with_version(package, found.desired) for package in packages)

    if missing:
        comments.append(f"The following packages failed to install/update: {named(missing)}")
    if modified:
        comments.append(_installed_comment(modified, named))
    comments += _merge_holds([row for row in holds if row["changes"]], changes)
    if kept:
        comments.append(_unchanged_comment(kept, named))
    comments += [row["comment"] for row in holds if not row["changes"]]
    for package in found.reinstall if reinstall else ():
        done = package in again
        shown = named([package])
        comments.append(
            f"Package {shown} was reinstalled." if done else f"Reinstall was not successful for package {shown}."
        )
    held = all(row["result"] for row in holds)
    done = not missing and held and (not reinstall or again == set(found.reinstall))
    return make_row(name, "\n".join(comments), changes, result=done)


def _installed_comment(packages: list[str], named: Callable[[Iterable[str]], str]) -> str:
    summary = named(packages)
    if len(summary) < _SHORT:
        return f"The following packages were installed/updated: {summary}"
    many = len(packages) > 1
    return f"{len(packages)} targeted package{'s' if many else ''} {'were' if many else 'was'} installed/updated."


def _unchanged_comment(packages: list[str], named: Callable[[Iterable[str]], str]) -> str:
    if len(packages) <= _SHORT:
        return f"The following packages were already installed: {named(packages)}"
    return f"{len(packages)} targeted packages were already installed"


def _with_hold(row: Row, name: str, pkgs: Any, sources: Any, kwargs: dict[str, Any]) -> Row:
    """Hold or release packages that are installed already."""
    if row["result"] is False or "hold" not in kwargs or "pkg.hold" not in __salt__:
        return row
    try:
        rows = _set_hold(kwargs["hold"], name=name, pkgs=pkgs, sources=sources)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    for each in sorted(rows.values(), key=lambda each: 2 if not each["result"] else 1 if not each["changes"] else 0):
        row["comment"] += f".\n{each['comment']}"
        if row["result"] is True or each["result"] is False:
            row["result"] = each["result"]
        if each["changes"]:
            row["changes"][each["name"]] = each["changes"]
    return row


def _set_hold(hold: Any, **which: Any) -> dict[str, Row]:
    rows: dict[str, Row] = __salt__["pkg.hold" if hold else "pkg.unhold"](**which)
    return rows


def _merge_holds(rows: list[Row], changes: dict[str, Any]) -> list[str]:
    for row in rows:
        own = changes.get(row["name"])
        if own is None:
            changes[row["name"]] = {"new": str(row["changes"]["new"])}
            continue
        for side in ("new", "old"):
            own[side] = "\n".join(part for part in (own[side], str(row["changes"][side])) if part)
    return [row["comment"] for row in rows]
