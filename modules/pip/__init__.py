"""The ``pip`` execution module: Python packages of virtual environments, or of this Python."""

from __future__ import annotations

from .installing import install, uninstall
from .packages import (
    freeze,
    is_installed,
    list_,
    list_all_versions,
    list_upgrades,
    unmet,
    upgrade,
    upgrade_available,
)
from .programs import version
from .requirements import normalize, requirement
from .versions import satisfies

__func_alias__ = {"list_": "list"}

__all__ = [
    "freeze",
    "install",
    "is_installed",
    "list_",
    "list_all_versions",
    "list_upgrades",
    "normalize",
    "requirement",
    "satisfies",
    "uninstall",
    "unmet",
    "upgrade",
    "upgrade_available",
    "version",
]
