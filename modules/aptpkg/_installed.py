"""dpkg's database: the installed packages, and the action selected for each."""

from __future__ import annotations

import os
from typing import Any

from asyncstate.dunders import __context__, __grains__, is_dry_run, unchanged
from asyncstate.errors import InvocationError

from .._package_transactions import checked_name  # noqa: TID252 - as `modules` for type checkers
from ._programs import call, output

Versions = dict[str, Any]

_CACHE = "pkg.list_pkgs"
_CACHE_BESIDE = "pkg.now_installed"
_STATUS = "/var/lib/dpkg/status"
_FORMAT = "${Status} ${Package} ${Version} ${Architecture}\\n"


def normalize_name(name: str) -> str:
    """Return ``name`` without an architecture that is the machine's own."""
    package, colon, architecture = name.rpartition(":")
    if colon and architecture in {__grains__.get("osarch"), "all", "any"}:
        return package
    return name


def list_pkgs(
    versions_as_list: bool = False, removed: bool = False, purge_desired: bool = False, **kwargs: Any
) -> Versions:
    """Return the installed packages and their versions.

    ``removed``: those with only configuration left; ``purge_desired``: those installed but selected for purging.
    The name of a package of another architecture contains it. dpkg is queried again only after a change
    (``use_context: False`` always queries).
    """
    kinds = _listing(use_cache=bool(kwargs.get("use_context", True)))
    wanted = ("removed",) if removed else ("purge_desired",) if purge_desired else ("purge_desired", "installed")
    found = {name: versions for kind in wanted for name, versions in kinds[kind].items()}
    return {name: list(versions) if versions_as_list else ",".join(versions) for name, versions in found.items()}


def now_installed() -> dict[str, list[str]]:
    """Return the versions of the installed packages like `list_pkgs`, for code that runs beside states.

    It is a separate copy, and may be older than the last change of this run.
    """
    stamp = _stamp()
    known = __context__.get(_CACHE)
    if known is None or known[0] != stamp:
        known = __context__.get(_CACHE_BESIDE)
    if known is None or known[0] != stamp:
        known = __context__[_CACHE_BESIDE] = (stamp, _query())
    kinds: dict[str, Versions] = known[1]
    return {**kinds["purge_desired"], **kinds["installed"]}


def forget() -> None:
    """Query dpkg again at the next call."""
    __context__.pop(_CACHE, None)


def get_selections(pattern: str | None = None, state: str | None = None) -> dict[str, list[str]]:
    """Return the packages by their selected action in dpkg: ``install``, ``hold``, ``deinstall``, ``purge``.

    ``pattern`` is a glob of names. ``state`` limits the result to one action.
    """
    found: dict[str, list[str]] = {}
    for line in output(["dpkg", "--get-selections", pattern or "*"]).splitlines():
        words = line.split()
        if len(words) == 2:
            found.setdefault(words[1], []).append(normalize_name(words[0]))
    return {state: found.get(state, [])} if state else found


def hold(name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Hold packages at their version. Returns a row (name, result, changes, comment) for each."""
    return {each: _select(each, held=True) for each in _selected(name, pkgs, sources)}


def unhold(name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Release held packages. Returns a row (name, result, changes, comment) for each."""
    return {each: _select(each, held=False) for each in _selected(name, pkgs, sources)}


def _select(name: str, *, held: bool) -> dict[str, Any]:
    row = unchanged(name)
    states = get_selections(pattern=name)
    if not states and not held:
        return {**row, "result": False, "comment": f"Package {name} does not have a state."}
    if bool(states.get("hold")) == held:
        word = "already set to be held" if held else "already set not to be held"
        return {**row, "comment": f"Package {name} is {word}."}
    if is_dry_run():
        return {**row, "result": None, "comment": f"Package {name} is set {'' if held else 'not '}to be held."}
    done = call(["apt-mark", "hold" if held else "unhold", name])
    forget()
    if done["retcode"]:
        reason = str(done["stderr"] or done["stdout"]).strip()
        return {**row, "result": False, "comment": f"Package {name} could not be {'' if held else 'un'}held: {reason}"}
    row["changes"] = {"old": next(iter(states), None), "new": "hold" if held else "install"}
    row["comment"] = f"Package {name} is {'now' if held else 'no longer'} being held."
    return row


def _selected(name: str | None, pkgs: Any, sources: Any) -> list[str]:
    if not name and not pkgs and not sources:
        raise InvocationError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise InvocationError("Only one of pkgs or sources can be specified.")
    wanted = pkgs or sources or [name]
    return [checked_name(str(next(iter(each)) if isinstance(each, dict) else each)) for each in wanted]


def _listing(*, use_cache: bool) -> dict[str, Versions]:
    stamp = _stamp()
    known = __context__.get(_CACHE)
    if use_cache and known is not None and known[0] == stamp:
        kinds: dict[str, Versions] = known[1]
        return kinds
    kinds = _query()
    __context__[_CACHE] = (stamp, kinds)
    return kinds


def _stamp() -> tuple[int, ...]:
    """Return a value that changes whenever any process changes dpkg's database."""
    try:
        status, updates = os.stat(_STATUS), os.stat(os.path.join(os.path.dirname(_STATUS), "updates"))
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino, updates.st_mtime_ns


def _query() -> dict[str, Versions]:
    kinds: dict[str, Versions] = {"installed": {}, "removed": {}, "purge_desired": {}}
    for line in output(["dpkg-query", "--showformat", _FORMAT, "-W"]).splitlines():
        words = line.split()
        if len(words) != 6:
            continue
        wanted, _, status, name, version, architecture = words
        name = normalize_name(f"{name}:{architecture}")
        if wanted == "purge" and status == "installed":
            kind = "purge_desired"
        elif status == "installed":
            kind = "installed"
        elif wanted == "deinstall":
            kind = "removed"
        else:
            continue
        kinds[kind].setdefault(name, []).append(version)
    return {kind: {name: sorted(set(each)) for name, each in found.items()} for kind, found in kinds.items()}
