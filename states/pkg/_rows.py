"""The arguments that most package states share, and how their comments name packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __context__, __salt__, failed

if TYPE_CHECKING:
    from asyncstate.errors import CommandExecutionError

Versions = dict[str, str | None]

_REFRESH_PENDING = "pkg.refresh"


def failure(name: str, error: CommandExecutionError, doing: str) -> Row:
    """Return the row of a package manager that failed, with what it changed all the same."""
    if isinstance(error.info, Mapping):
        return failed(name, error.strerror_without_changes, error.info.get("changes"))
    return failed(name, f"An error was encountered while {doing} package(s): {error}")


def plan_refresh() -> None:
    """Let the first state that needs fresh lists of packages refresh them, once in this run."""
    __context__[_REFRESH_PENDING] = True


def refresh_wanted(refresh: Any) -> bool:
    """Tell whether the lists are to be refreshed: as the state says, else if nobody did it yet in this run."""
    if isinstance(refresh, str):
        refresh = refresh.strip().lower() in {"true", "yes", "on", "1"}
    if refresh is None:
        return bool(__context__.get(_REFRESH_PENDING))
    return bool(refresh)


def resolve_capabilities(pkgs: Any, *, refresh: bool, **kwargs: Any) -> tuple[Any, bool]:
    """Replace what packages provide by the packages that do, where the package manager knows of such names."""
    if not pkgs or "pkg.resolve_capabilities" not in __salt__:
        return pkgs, refresh
    return __salt__["pkg.resolve_capabilities"](pkgs, refresh=refresh, **kwargs), False


def with_version(name: str, versions: Mapping[str, str | None]) -> str:
    """Return a package as a comment names it: ``nginx``, ``nginx=1.2`` or ``nginx>=1.2``."""
    version = versions[name] or ""
    return f"{name}{version}" if version.startswith(("<", ">", "=")) or not version else f"{name}={version}"


def listed(names: Iterable[str]) -> str:
    """Return names as one text."""
    return ", ".join(names)
