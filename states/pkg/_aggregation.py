"""Aggregation: the package states of a run share one call of the package manager; its changes are split by state."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__
from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Low = dict[str, Any]

_FUNCTIONS = {"installed", "latest", "removed", "purged"}
_DECISIVE = (
    "fromrepo",
    "skip_verify",
    "install_recommends",
    "allow_updates",
    "update_holds",
    "ignore_epoch",
    "normalize",
    "reinstall",
    "only_upgrade",
    "force_yes",
    "force_conf_new",
    "resolve_capabilities",
    "pkg_verify",
    "debconf",
    "env",
)
"""Arguments that apply to a whole call: states that differ in one of them are not aggregated."""
_OWN = "__agg_pkgs__"
"""The key under which an aggregated state keeps the names it added: its share of the changes."""
_NESTED = {"purged": ("installed", "removed"), "installed": ("purge_desired",)}


def mod_aggregate(low: Low, chunks: Sequence[Low], running: Mapping[str, Any]) -> Low:
    """Add the packages of later states of the same function to ``low`` and mark those states ``__agg__``.

    A state qualifies only if its other arguments are the same, it does not hold packages, it is not in ``running``, and
    it does not want another version of a package already added. Files (``sources``) are aggregated only with files.
    """
    if low.get("fun") not in _FUNCTIONS or "hold" in low:
        return low
    kind = "sources" if "sources" in low else "pkgs"
    wanted = _wanted(low, kind)
    if wanted is None:
        return low
    added = False
    for chunk in chunks:
        if chunk is low or "__agg__" in chunk or not _alike(low, chunk, kind) or _tag(chunk) in running:
            continue
        more = _wanted(chunk, kind)
        if more is None or any(version != wanted.get(name, version) for name, version in more.items()):
            continue
        chunk["__agg__"] = True
        chunk[_OWN] = [name for name in more if name not in wanted]
        wanted.update(more)
        if chunk.get("refresh"):
            low["refresh"] = True
        added = True
    if added:
        low.pop("version", None)
        low[kind] = [name if version is None else {name: version} for name, version in wanted.items()]
    return low


def mod_aggregate_split(low: Low, chunks: Sequence[Low], ret: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the share of each state in the changes of a common call, by state tag.

    An aggregated state gets the packages it named. Everything else, dependencies included, stays with ``low``, the
    state that was called, because it is not known which package needed a dependency.
    """
    changes = dict(ret.get("changes") or {})
    shares: dict[str, dict[str, Any]] = {}
    nested = [key for key in _NESTED.get(str(low.get("fun")), ()) if isinstance(changes.get(key), dict)]
    if low.get("fun") != "purged":
        nested = [key for key in nested if "new" not in changes[key]]
    for chunk in chunks:
        if chunk is low or _tag(chunk) == _tag(low):
            continue
        names = [str(name) for name in chunk.get(_OWN, ())]
        share = _taken(changes, names)
        for key in nested:
            part = dict(changes[key])
            taken = _taken(part, names)
            changes[key] = part
            if taken:
                share[key] = taken
        shares[_tag(chunk)] = share
    shares[_tag(low)] = {key: value for key, value in changes.items() if value or key not in nested}
    return shares


def _taken(changes: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Move the changes of these packages, which may be globs, out of ``changes``."""
    found = {}
    for name in names:
        for package in fnmatch.filter(changes, name) if "*" in name else [_normalised(name)]:
            if package in changes:
                found[package] = changes.pop(package)
    return found


def _alike(low: Low, chunk: Low, kind: str) -> bool:
    return (
        chunk.get("state") == low.get("state")
        and chunk.get("fun") == low.get("fun")
        and "hold" not in chunk
        and ("sources" in chunk) == (kind == "sources")
        and all(chunk.get(key) == low.get(key) for key in _DECISIVE)
    )


def _wanted(low: Low, kind: str) -> dict[str, Any] | None:
    """Return the wanted versions (or files) by package; None if the state itself must refuse them."""
    if kind in low:
        entries = low[kind]
        if not isinstance(entries, list) or not entries:
            return None
    else:
        entries = [{low["name"]: low["version"]}] if low.get("version") else [low["name"]]
    function = "pkg_resource.pack_sources" if kind == "sources" else "pkg_resource.pack_pkgs"
    try:
        return dict(__salt__[function](entries)) or None
    except InvocationError:
        return None


def _normalised(name: str) -> str:
    return str(__salt__["pkg.normalize_name"](name)) if "pkg.normalize_name" in __salt__ else name


def _tag(low: Mapping[str, Any]) -> str:
    return f"{low['state']}_|-{low['__id__']}_|-{low['name']}_|-{low['fun']}"
