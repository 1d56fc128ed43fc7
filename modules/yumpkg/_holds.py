"""Held packages, through dnf's versionlock plugin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import InvocationError

from .._package_transactions import hold_rows, named  # noqa: TID252 - as `modules` for type checkers
from ._programs import call, program

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOCK = re.compile(r"^!?(?:\d+:)?([\w.+-]+?)-(\d+:)?([^-\s:]+)-([^-\s]+)$")
_NAMED = re.compile(r"^Package name:\s*(\S+)")
_EXACT = re.compile(r"^evr\s*=\s*(\S+)")


def list_holds(pattern: str | None = None, full: bool = True) -> list[str]:
    """Return the held packages: names, or with ``full`` versions, as ``sun-0:1.0-1.*``. ``pattern`` is a regex.

    InvocationError if the versionlock plugin is not installed.
    """
    locks = _locks()
    chosen = locks if pattern is None else [lock for lock in locks if re.match(pattern, lock[0])]
    return [lock if full else name for name, lock in chosen]


def hold(
    name: str | None = None, pkgs: Any = None, sources: Any = None, normalize: bool = True, **kwargs: Any
) -> dict[str, dict[str, Any]]:
    """Hold packages at their version. Returns a row (name, result, changes, comment) for each."""
    wanted = named(name, pkgs, sources)
    return hold_rows(wanted, list_holds(full=False), lambda each: _versionlock("add", each), wanted=True)


def unhold(name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Release held packages. Returns a row (name, result, changes, comment) for each."""
    wanted = named(name, pkgs, sources)
    return hold_rows(wanted, list_holds(full=False), lambda each: _versionlock("delete", each), wanted=False)


def held_among(names: Iterable[str]) -> set[str]:
    """Return which of these packages are held; none if the plugin is not installed."""
    try:
        return {*names} & {*list_holds(full=False)}
    except InvocationError:
        return set()


def _locks() -> list[tuple[str, str]]:
    done = call(["--quiet", "versionlock", "list"], ignore_retcode=True)
    if done["retcode"]:
        plugin = "yum-plugin-versionlock" if program() == "yum" else "python3-dnf-plugin-versionlock"
        raise InvocationError(f"Cannot proceed, {plugin} is not installed.")
    found = []
    package = ""
    for line in map(str.strip, str(done["stdout"]).splitlines()):
        match = _LOCK.match(line)
        if match:
            found.append((match[1], line))
        elif _NAMED.match(line):
            package = line.partition(":")[2].strip()
        elif package and _EXACT.match(line):
            found.append((package, f"{package}-{line.partition('=')[2].strip()}.*"))
            package = ""
    return found


def _versionlock(action: str, package: str) -> bool:
    return bool(call(["versionlock", action, package])["retcode"] == 0)
