"""The interface of ``service``: the services of the init system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from asyncstate.interfaces import Interface

if TYPE_CHECKING:
    from collections.abc import Mapping

_SYSTEMD = {"init": ["systemd"]}


class ServiceInterface(Interface):
    """Services of the system: running or not, started at boot or not. Names are the init system's own."""

    __modulename__ = "service"
    __func_alias__: ClassVar[Mapping[str, str]] = {"reload_": "reload"}

    def start(self, name: str) -> bool:
        """Start a service; True if it was started."""
        return True

    def stop(self, name: str) -> bool:
        """Stop a service; True if it was stopped."""
        return True

    def restart(self, name: str) -> bool:
        """Stop and start a service."""
        return True

    def reload_(self, name: str) -> bool:
        """Let a service read its configuration anew."""
        return True

    def force_reload(self, name: str) -> bool:
        """Let a service read its configuration anew, restart it if it cannot."""
        return True

    def status(self, name: str, sig: str | None = None) -> Any:
        """Return whether a service runs; for a glob, by service. ``sig``: whether a process has this command line."""
        return False

    def enable(self, name: str, **kwargs: Any) -> bool:
        """Start a service at boot."""
        return True

    def disable(self, name: str, **kwargs: Any) -> bool:
        """Do not start a service at boot."""
        return True

    def enabled(self, name: str, **kwargs: Any) -> bool:
        """Return whether a service is started at boot."""
        return False

    def disabled(self, name: str, **kwargs: Any) -> bool:
        """Return whether a service is not started at boot."""
        return False

    def available(self, name: str) -> bool:
        """Return whether there is such a service."""
        return False

    def missing(self, name: str) -> bool:
        """Return whether there is no such service."""
        return True

    def get_all(self, **kwargs: Any) -> list[str]:
        """Return all services, sorted."""
        return []

    def get_enabled(self, **kwargs: Any) -> list[str]:
        """Return the services that are started at boot, sorted."""
        return []

    def get_disabled(self, **kwargs: Any) -> list[str]:
        """Return the services that are not started at boot, sorted."""
        return []

    @Interface.supported(**_SYSTEMD)
    def get_running(self) -> list[str]:
        """Return the services that run, sorted."""
        return []

    @Interface.supported(**_SYSTEMD)
    def get_static(self, root: str | None = None) -> list[str]:
        """Return the units that can be neither enabled nor disabled, sorted."""
        return []

    @Interface.supported(**_SYSTEMD)
    def show(self, name: str, root: str | None = None) -> dict[str, Any]:
        """Return the properties of a unit."""
        return {}

    @Interface.supported(**_SYSTEMD)
    def masked(self, name: str, runtime: bool = False, root: str | None = None) -> bool:
        """Return whether a unit cannot be started at all."""
        return False

    @Interface.supported(**_SYSTEMD)
    def mask(self, name: str, runtime: bool = False, root: str | None = None) -> bool:
        """Make a unit impossible to start."""
        return True

    @Interface.supported(**_SYSTEMD)
    def unmask(self, name: str, runtime: bool = False, root: str | None = None) -> bool:
        """Let a unit be started again."""
        return True

    @Interface.supported(**_SYSTEMD)
    def offline(self) -> bool:
        """Return whether services can be enabled but not started: the init system is installed and does not run."""
        return False

    @Interface.supported(**_SYSTEMD)
    def systemctl_reload(self) -> bool:
        """Let systemd read its unit files anew."""
        return True

    @Interface.supported(**_SYSTEMD)
    def execs(self, root: str | None = None) -> dict[str, str]:
        """Return the program of each service."""
        return {}

    @Interface.supported(init=["runit", "upstart"])
    def full_restart(self, name: str) -> bool:
        """Stop a service completely and start it, so that it also takes over changes of its start options."""
        return True

    @Interface.supported(init=["runit"])
    def remove(self, name: str) -> bool:
        """Stop a service and remove it from the init system."""
        return True

    @Interface.supported(init=["openrc"])
    def zap(self, name: str) -> bool:
        """Make the init system forget that a service was started."""
        return True
