"""The addresses of this machine's interfaces, asked from the kernel (rtnetlink): no program is needed for it."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from typing import Any, NamedTuple

_GET_ADDRESSES = 22  # RTM_GETADDR
_NEW_ADDRESS = 20  # RTM_NEWADDR
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_ENDS = frozenset({2, 3})  # NLMSG_ERROR, NLMSG_DONE
_ADDRESS, _LOCAL, _LABEL, _BROADCAST = 1, 2, 3, 4  # IFA_*
_SCOPES = {0: "global", 200: "site", 253: "link", 254: "host"}
_UP = 1  # IFF_UP


class Address(NamedTuple):
    """One address: ``text`` and ``prefix`` length, with Salt's words for where it is valid."""

    interface: str
    family: int
    text: str
    prefix: int
    broadcast: str
    label: str
    scope: str

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network it is in."""
        return ipaddress.ip_interface(f"{self.text}/{self.prefix}").network


def addresses() -> list[Address]:
    """Return all addresses, in the kernel's order; [] where a sandbox forbids to ask."""
    found: list[Address] = []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            netlink.settimeout(1)
            netlink.sendto(struct.pack("=IHHIIB3x", 20, _GET_ADDRESSES, _REQUEST_DUMP, 1, 0, socket.AF_UNSPEC), (0, 0))
            while True:
                messages = _messages(netlink.recv(65536))
                found.extend(address for kind, body in messages if kind == _NEW_ADDRESS for address in _parse(body))
                if not messages or messages[-1][0] in _ENDS:
                    return found
    except (OSError, AttributeError):
        return found


def interfaces() -> dict[str, dict[str, Any]]:
    """Return every interface with Salt's keys: ``up``, ``hwaddr``, and ``inet``, ``inet6`` if it has addresses."""
    known = addresses()
    found: dict[str, dict[str, Any]] = {}
    for _, name in sorted(socket.if_nameindex()):
        entry: dict[str, Any] = {"up": bool(int(_sysfs(name, "flags") or "0", 16) & _UP)}
        hardware = _sysfs(name, "address")
        if hardware:
            entry["hwaddr"] = hardware
        for address in known:
            if address.interface == name and address.family == socket.AF_INET:
                entry.setdefault("inet", []).append(
                    {
                        "address": address.text,
                        "netmask": str(address.network.netmask),
                        "broadcast": address.broadcast or None,
                        "label": address.label,
                    }
                )
            elif address.interface == name:
                entry.setdefault("inet6", []).append(
                    {"address": address.text, "prefixlen": str(address.prefix), "scope": address.scope}
                )
        found[name] = entry
    return found


def _sysfs(interface: str, attribute: str) -> str:
    try:
        with open(os.path.join("/sys/class/net", interface, attribute), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _messages(data: bytes) -> list[tuple[int, bytes]]:
    """Split one datagram into (type, body)."""
    messages = []
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if length < 16:
            break
        messages.append((kind, data[16:length]))
        data = data[(length + 3) & ~3 :]
    return messages


def _parse(body: bytes) -> list[Address]:
    """Read one ``ifaddrmsg``. The local address is this side of a point-to-point link."""
    family, prefix, _, scope, index = struct.unpack_from("=BBBBI", body)
    attributes: dict[int, bytes] = {}
    rest = body[8:]
    while len(rest) >= 4:
        length, kind = struct.unpack_from("=HH", rest)
        if length < 4:
            break
        attributes[kind] = rest[4:length]
        rest = rest[(length + 3) & ~3 :]
    packed = attributes.get(_LOCAL) or attributes.get(_ADDRESS)
    if family not in {socket.AF_INET, socket.AF_INET6} or packed is None:
        return []
    broadcast = attributes.get(_BROADCAST)
    try:
        name = socket.if_indextoname(index)
    except OSError:  # the interface went away meanwhile
        return []
    return [
        Address(
            interface=name,
            family=family,
            text=socket.inet_ntop(family, packed),
            prefix=prefix,
            broadcast=socket.inet_ntop(family, broadcast) if broadcast else "",
            label=attributes.get(_LABEL, name.encode()).rstrip(b"\0").decode(),
            scope=_SCOPES.get(scope, str(scope)),
        )
    ]
