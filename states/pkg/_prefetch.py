"""Prefetches of package states."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __salt__

from .. import _package_sources as package_sources  # noqa: TID252 - as `states` for type checkers

_GIVEN = ("name", "pkgs", "version", "refresh", "fromrepo", "skip_verify", "install_recommends")
_NOT_PLAIN = frozenset("<>*?[]|")


def mod_prefetch(low: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages that ``pkg.installed`` names, where the package manager can download them ahead."""
    if low.get("fun") != "installed" or low.get("sources") or "pkg.prefetch" not in __salt__:
        return []
    pkgs = low.get("pkgs")
    named = [low["name"]] if pkgs is None else pkgs
    if not isinstance(named, list) or not named:
        return []
    versions: dict[Any, Any] = {}
    for each in named:
        versions.update(each if isinstance(each, dict) else {each: None if pkgs else low.get("version")})
    texts = [str(text) for pair in versions.items() for text in pair if text is not None]
    if any(text == "latest" or text.startswith("-") or not _NOT_PLAIN.isdisjoint(text) for text in texts):
        return []
    return [
        {
            "function": "pkg.prefetch",
            "arguments": {key: low[key] for key in _GIVEN if low.get(key) is not None},
            "reads": [f"path:{path}" for path in package_sources.FILES],
            "what": f"packages: {', '.join(map(str, versions))}",
            "together": True,
        }
    ]
