"""The ``mine`` execution module. The mine is always empty, as there is no master to keep it."""

from __future__ import annotations

from typing import Any


def get(tgt: str, fun: str | list[str], tgt_type: str = "glob", exclude_minion: bool = False) -> dict[str, Any]:
    """Return {}: the mine is empty."""
    return {}


def get_docker(interfaces: Any = None, cidrs: Any = None, with_container_id: bool = False) -> dict[str, Any]:
    """Return {}: the mine is empty."""
    return {}


def update(clear: bool = False, mine_functions: Any = None) -> bool:
    """Do nothing."""
    return True


def send(name: str, *args: Any, **kwargs: Any) -> bool:
    """Do nothing."""
    return True


def delete(fun: str) -> bool:
    """Do nothing."""
    return True


def flush() -> bool:
    """Do nothing."""
    return True


def valid() -> dict[str, Any]:
    """Return {}."""
    return {}
