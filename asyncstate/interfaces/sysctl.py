"""The interface of ``sysctl``: settings of the kernel."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class SysctlInterface(Interface):
    """Kernel settings: the current ones, and those in the file that is read at system start."""

    __modulename__ = "sysctl"

    def default_config(self) -> str:
        """Return the path of the file that is read at system start."""
        return ""

    def show(self, config_file: Any = False) -> Any:
        """Return the current settings, or those of a file; None for a file that cannot be read."""
        return None

    def get(self, name: str) -> str:
        """Return the current value, "" for an unknown setting."""
        return ""

    def assign(self, name: str, value: Any) -> dict[str, str]:
        """Set the current value."""
        return {}

    def persist(self, name: str, value: Any, config: str | None = None) -> str:
        """Set the current value and write it to the file; returns "Updated" or "Already set"."""
        return ""
