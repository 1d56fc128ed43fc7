"""Footprints of package states: the package database, and the packages that they install or remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _package_sources as package_sources  # noqa: TID252 - as `states` for type checkers
from .. import _resources  # noqa: TID252

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HOLD = frozenset({"held", "unheld"})
_ONLY_DATABASE = _HOLD | {"downloaded"}
"""States that change no file of a package."""

_HOLDS = "package-holds"
"""The packages that the package manager holds at their version."""

_REMOVE = frozenset({"removed", "purged"})
_ENDED = f"{_resources.PROCESSES}#packages"
"""The daemons of packages, which end with these."""
_ANY = "package:*"
_SETTINGS = (
    *("path:/etc/dpkg/dpkg.cfg", "path:/etc/dpkg/dpkg.cfg.d/**"),
    *("path:/etc/hosts", "path:/etc/resolv.conf", "path:/etc/nsswitch.conf"),
)
"""Resources that package managers read beside their sources: settings, and name lookup."""


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a package state: the package database, package sources, and its packages.

    ``package:NAME`` means all contents of a package; ``package:*`` any package, such as one in a file.
    """
    sources = low.get("sources")
    sources = sources if isinstance(sources, list) else []
    files = [str(path) for each in sources if isinstance(each, dict) for path in each.values()]
    reads = [f"path:{path}" for path in (*files, *package_sources.FILES) if path.startswith("/")]
    packages = [] if low.get("fun") in _ONLY_DATABASE else list(dict.fromkeys(_packages(low))) or [_ANY]
    holds = [_HOLDS] if low.get("fun") in _HOLD or low.get("hold") is not None else []
    ends = [_ENDED] if low.get("fun") in _REMOVE else []
    return {"reads": [*reads, *_SETTINGS], "writes": ["pkgdb", *packages, *holds, *ends]}


def _packages(low: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages that a state names."""
    if low.get("fun") == "uptodate":
        yield _ANY
        return
    if low.get("sources"):
        yield _ANY
    listed = low.get("pkgs") or low.get("sources")
    for each in listed if isinstance(listed, list) else [low.get("name")]:
        for name in each if isinstance(each, dict) else [each]:
            if isinstance(name, str) and name:
                yield f"package:{name}"
