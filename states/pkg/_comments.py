"""Names of packages and errors in the comments of package states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from asyncstate.dunders import Row, failed

if TYPE_CHECKING:
    from asyncstate.errors import CommandExecutionError


def failure(name: str, error: CommandExecutionError, doing: str) -> Row:
    """Return the row of a failed package manager, with the changes that it made before."""
    if isinstance(error.info, Mapping):
        return failed(name, error.strerror_without_changes, error.info.get("changes"))
    return failed(name, f"An error was encountered while {doing} package(s): {error}")


def with_version(name: str, versions: Mapping[str, str | None]) -> str:
    """Return the name of a package for a comment: ``nginx``, ``nginx=1.2`` or ``nginx>=1.2``."""
    version = versions[name] or ""
    return f"{name}{version}" if version.startswith(("<", ">", "=")) or not version else f"{name}={version}"


def listed(names: Iterable[str]) -> str:
    """Return the names joined by commas."""
    return ", ".join(names)
