"""``pkg.removed`` and ``pkg.purged``."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError, InvocationError

from ._comments import failure, listed
from ._versions import Versions, fulfils


def removed(
    name: str,
    version: Any = None,
    pkgs: Any = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Row:
    """The package, or those of the list ``pkgs``, are not installed; their configuration may be left.

    With a version (or condition) only that is removed. The keywords for the package manager are those of
    ``pkg.installed``.
    """
    return _uninstalled("remove", name, version, pkgs, normalize=normalize, ignore_epoch=ignore_epoch, **kwargs)


def purged(
    name: str,
    version: Any = None,
    pkgs: Any = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    **kwargs: Any,
) -> Row:
    """The package, or those of the list ``pkgs``, are not installed and no configuration of theirs is left.

    The keywords for the package manager are those of ``pkg.installed``.
    """
    return _uninstalled("purge", name, version, pkgs, normalize=normalize, ignore_epoch=ignore_epoch, **kwargs)


def _uninstalled(
    action: str,
    name: str,
    version: Any,
    pkgs: Any,
    *,
    normalize: bool,
    ignore_epoch: bool | None,
    **kwargs: Any,
) -> Row:
    kwargs["saltenv"] = str(__env__)
    version = None if version is None else str(version)
    try:
        wanted: Versions | None
        wanted, _ = __salt__["pkg_resource.parse_targets"](name, pkgs, normalize=normalize, version=version)
        if not wanted:
            return failed(name, "Invalidly formatted pkgs parameter. See minion log.")
        targets, versioned = _to_remove(wanted, ignore_epoch=ignore_epoch, **kwargs)
        if action == "remove" and not targets:
            suffix = " (matching specified versions)" if versioned else ""
            return unchanged(name, f"All specified packages{suffix} are already absent")
        if action == "purge":
            leftover = __salt__["pkg.list_pkgs"](versions_as_list=True, removed=True, **kwargs)
            targets += [package for package in wanted if package in leftover and package not in targets]
        targets.sort()
        if not targets:
            return unchanged(name, "None of the targeted packages are installed or partially installed")
        if is_dry_run():
            changes = {package: {"new": f"{action}d", "old": ""} for package in targets}
            comment = f"The following packages will be {action}d: {listed(targets)}."
            return would_change(name, comment, changes)
        changes = __salt__[f"pkg.{action}"](name, pkgs=targets, split_arch=False, **kwargs)
        return _outcome(action, name, wanted, targets, changes, **kwargs)
    except CommandExecutionError as error:
        return failure(name, error, "removing" if action == "remove" else "purging")
    except InvocationError as error:
        return failed(name, f"An error was encountered while parsing targets: {error}")


def _to_remove(wanted: Versions, *, ignore_epoch: bool | None, **kwargs: Any) -> tuple[list[str], bool]:
    """Return the installed packages to remove, and whether a version decided about one of them."""
    installed = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs)
    targets = []
    versioned = False
    for package, version in wanted.items():
        current = installed.get(package)
        if not current:
            continue
        clean = __salt__["pkg_resource.version_clean"](version)
        versioned = versioned or clean is not None
        if clean is None or fulfils(current, clean, ignore_epoch=ignore_epoch):
            targets.append(package)
    return targets, versioned


def _outcome(
    action: str, name: str, wanted: Versions, targets: list[str], changes: dict[str, Any], **kwargs: Any
) -> Row:
    left = dict(__salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs))
    if action == "purge":
        left.update(__salt__["pkg.list_pkgs"](versions_as_list=True, removed=True, **kwargs))
    unremoved = sorted(package for package in targets if package in left)
    if unremoved:
        return failed(name, f"The following packages failed to {action}: {listed(unremoved)}.", changes)
    absent = sorted(package for package in wanted if package not in targets)
    if absent:
        comment = (
            f"The following packages were not installed: {listed(absent)} "
            f"The following packages were {action}d: {listed(targets)}."
        )
    else:
        comment = f"All targeted packages were {action}d."
    return changed(name, comment, changes)
