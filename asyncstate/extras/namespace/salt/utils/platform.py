"""The platform of this host."""

from __future__ import annotations

import platform
import sys

from asyncstate.dunders.context import current
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


def _answers(name: str) -> bool:
    return sys.platform.startswith(name)


def is_linux() -> bool:
    """Return whether this is Linux."""
    return _answers("linux")


def is_windows() -> bool:
    """Return whether this is Windows."""
    return _answers("win")


def is_darwin() -> bool:
    """Return whether this is macOS."""
    return _answers("darwin")


def is_freebsd() -> bool:
    """Return whether this is FreeBSD."""
    return _answers("freebsd")


def is_netbsd() -> bool:
    """Return whether this is NetBSD."""
    return _answers("netbsd")


def is_openbsd() -> bool:
    """Return whether this is OpenBSD."""
    return _answers("openbsd")


def is_sunos() -> bool:
    """Return whether this is Solaris."""
    return _answers("sunos")


def is_smartos() -> bool:
    """Return whether this is SmartOS."""
    return is_sunos() and platform.uname().version.startswith("joyent_")


def is_aix() -> bool:
    """Return whether this is AIX."""
    return _answers("aix")


def is_aarch64() -> bool:
    """Return whether this is an ARM machine of 64 bits."""
    return platform.machine().startswith("aarch64")


def is_proxy() -> bool:
    """Return whether this is a proxy minion: always False."""
    return False


def is_fedora() -> bool:
    """Return whether this is Fedora."""
    return _distribution() == "Fedora"


def is_photonos() -> bool:
    """Return whether this is Photon OS."""
    return _distribution() == "VMware Photon OS"


def _distribution() -> str:
    call = current.get(None)
    return str(call.grains.get("os", "")) if call is not None else ""


__getattr__: ModuleGetattr = nothing_else(__name__)
