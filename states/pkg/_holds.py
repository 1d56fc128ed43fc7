"""``pkg.held`` and ``pkg.unheld``."""

from __future__ import annotations

import re
from typing import Any

from asyncstate.dunders import Row, __salt__, failed, is_dry_run, unchanged
from asyncstate.errors import CommandExecutionError, InvocationError

_VERSIONED_LOCK = re.compile(r"^(.+)-(\d+):(.*)\.\*")
_NO_LOCKS = (
    "No any function to get the list of held packages available.\n"
    "Check if the package manager supports package locking."
)


def held(name: str, version: Any = None, pkgs: Any = None, replace: bool = False, **kwargs: Any) -> Row:
    """The package, or those of the list ``pkgs``, are held at their version; with ``replace`` no others are.

    The keywords for the package manager are those of ``pkg.installed``.
    """
    if isinstance(pkgs, list) and not pkgs and not replace:
        return unchanged(name, "No packages to be held provided")
    try:
        wanted = _wanted(name, version, pkgs)
        locks = _locks()
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    if "pkg.hold" not in __salt__:
        return failed(name, "`hold` function is not implemented for the package manager.")
    by_version = "pkg.list_locks" in __salt__
    row = unchanged(name)
    comments = []
    for package, number in wanted.items():
        current = str(locks.get(package, {}).get("version", "")).lstrip("= ") or None
        if package in locks and not (by_version and current != number):
            continue
        if is_dry_run():
            what = "package's hold rule would be updated" if package in locks else "package would be held"
            comments.append(f"The following {what}: {package}{_with_number(number)}")
            row["result"] = None
        else:
            comments.append(_hold(row, name, package, number, locked=package in locks))
    for package in [each for each in locks if each not in wanted] if replace else []:
        if locks[package].get("type", "package") == "package":
            comments += _release(row, name, package, "")
    return _finished(row, comments)


def unheld(name: str, version: Any = None, pkgs: Any = None, all: bool = False, **kwargs: Any) -> Row:
    """The package, or those of the list ``pkgs``, or ``all``, may be upgraded.

    The keywords for the package manager are those of ``pkg.installed``.
    """
    if isinstance(pkgs, list) and not pkgs and not all:
        return unchanged(name, "No packages to be unheld provided")
    try:
        wanted = _wanted(name, version, pkgs)
        locks = _locks()
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    by_version = "pkg.list_locks" in __salt__
    row = unchanged(name)
    comments: list[str] = []
    for package, lock in locks.items():
        current = str(lock.get("version", "")).lstrip("= ") if by_version else ""
        named = package in wanted and (not current or current == wanted[package])
        if lock.get("type", "package") == "package" and (all or named):
            comments += _release(row, name, package, _with_number(current if wanted.get(package) else None))
    return _finished(row, comments)


def _wanted(name: str, version: Any, pkgs: Any) -> dict[str, str | None]:
    if pkgs is None:
        return {name: str(version) if version else None}
    packed: dict[str, str | None] = __salt__["pkg_resource.pack_pkgs"](pkgs)
    if not packed and pkgs:
        raise InvocationError("Invalidly formatted pkgs parameter. See minion log.")
    return packed


def _locks() -> dict[str, dict[str, str]]:
    """Return the held packages, with the version if the package manager holds versions."""
    if "pkg.list_locks" in __salt__:
        locks: dict[str, dict[str, str]] = __salt__["pkg.list_locks"]()
        return locks
    if "pkg.list_holds" in __salt__:
        found: dict[str, dict[str, str]] = {}
        for lock in __salt__["pkg.list_holds"](full=True):
            match = _VERSIONED_LOCK.match(lock)
            if match:
                epoch = "" if match[2] == "0" else f"{match[2]}:"
                found[match[1]] = {"version": f"{epoch}{match[3]}"}
            else:
                found[lock] = {}
        return found
    if "pkg.get_selections" in __salt__:
        return {package: {} for package in __salt__["pkg.get_selections"](state="hold").get("hold", [])}
    raise CommandExecutionError(_NO_LOCKS)


def _hold(row: Row, name: str, package: str, number: str | None, *, locked: bool) -> str:
    released = bool(locked and __salt__["pkg.unhold"](name=name, pkgs=[package]).get(package, {}).get("result"))
    done = __salt__["pkg.hold"](name=name, pkgs=[{package: number} if number else package])
    row["changes"].update(done)
    if not done.get(package, {}).get("result"):
        row["result"] = False
        return f"Package {package} was not held"
    return f"Package {package} was updated with hold rule" if released else f"Package {package} is now being held"


def _release(row: Row, name: str, package: str, number: str) -> list[str]:
    if is_dry_run():
        row["result"] = None
        return [f"The following package would be unheld: {package}{number}"]
    done = __salt__["pkg.unhold"](name=name, pkgs=[package])
    row["changes"].update(done)
    if not done.get(package, {}).get("result"):
        row["result"] = False
    return [done[package]["comment"]] if done.get(package, {}).get("comment") else []


def _with_number(number: str | None) -> str:
    return f" (version = {number})" if number else ""


def _finished(row: Row, comments: list[str]) -> Row:
    row["comment"] = "\n".join(comments) or ("" if row["changes"] else "No changes made")
    return row
