"""The interface of ``sysctl``: settings of the kernel."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces.base import Interface


class SysctlInterface(Interface):
    """Kernel settings, in force and in the file that is read at the start of the system."""

    __modulename__ = "sysctl"

    def default_config(self) -> str:
        """Return the file that is read at the start of the system."""
        return ""

    def show(self, config_file: Any = False) -> Any:
        """Return the settings in force, or those of a file; None for a file that cannot be read."""
        return None

    def get(self, name: str) -> str:
        """Return the value in force, "" for an unknown setting."""
        return ""

    def assign(self, name: str, value: Any) -> dict[str, str]:
        """Put a value in force."""
        return {}

    def persist(self, name: str, value: Any, config: str | None = None) -> str:
        """Put a value in force and into the file: "Updated" or "Already set"."""
        return ""
