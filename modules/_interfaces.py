"""The network interfaces of this machine, with Salt's keys."""

from __future__ import annotations

import os
import socket
from typing import Any

from asyncstate.data import kernel_network

_UP = 1  # IFF_UP


def interfaces() -> dict[str, dict[str, Any]]:
    """Return every interface: ``up``, ``hwaddr``, and ``inet``, ``inet6`` if it has addresses."""
    known = kernel_network.addresses()
    found: dict[str, dict[str, Any]] = {}
    for _, name in sorted(socket.if_nameindex()):
        entry: dict[str, Any] = {"up": bool(int(_sysfs(name, "flags") or "0", 16) & _UP)}
        hardware = _sysfs(name, "address")
        if hardware:
            entry["hwaddr"] = hardware
        for address in known:
            if address.interface == name and address.family == socket.AF_INET:
                entry.setdefault("inet", []).append(_inet(address))
            elif address.interface == name:
                entry.setdefault("inet6", []).append(
                    {"address": address.text, "prefixlen": str(address.prefix), "scope": address.scope}
                )
        found[name] = entry
    return found


def _inet(address: kernel_network.Address) -> dict[str, Any]:
    return {
        "address": address.text,
        "netmask": str(address.network.netmask),
        "broadcast": address.broadcast or None,
        "label": address.label,
    }


def _sysfs(interface: str, attribute: str) -> str:
    try:
        with open(os.path.join("/sys/class/net", interface, attribute), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
