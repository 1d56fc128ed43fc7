"""The addresses and routes of this machine, read from the Linux kernel without starting a program.

Grains and the ``network`` module use them. psutil is not enough: it calls getifaddrs(3), which reports neither the
scope of an address nor the difference between its interface and its label, and it reads no routes.
"""

from __future__ import annotations

import ipaddress
import socket
import struct

from asyncstate.value import Value

_GET_ADDRESSES = 22  # RTM_GETADDR
_NEW_ADDRESS = 20  # RTM_NEWADDR
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_ENDS = frozenset({2, 3})  # NLMSG_ERROR, NLMSG_DONE
_ADDRESS, _LOCAL, _LABEL, _BROADCAST = 1, 2, 3, 4  # IFA_*
_SCOPES = {0: "global", 200: "site", 253: "link", 254: "host"}
_MESSAGE_HEADER = 16
_ADDRESS_HEADER = 8
_ATTRIBUTE_HEADER = 4


class Address(Value):
    """One address: ``text`` and ``prefix`` length; ``scope`` is iproute2's name, or a number if it has none."""

    interface: str
    family: int
    text: str
    prefix: int
    broadcast: str
    label: str
    scope: str

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network of the address."""
        return ipaddress.ip_interface(f"{self.text}/{self.prefix}").network


class Route(Value):
    """One route; ``gateway`` is 0.0.0.0 or :: if there is none, ``flags`` are the kernel's (RTF_*)."""

    family: int
    destination: str
    prefix: int
    gateway: str
    flags: int
    interface: str


def addresses() -> list[Address]:
    """Return all addresses, in the kernel's order; [] on other systems, or if a sandbox forbids the request."""
    found: list[Address] = []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            netlink.settimeout(1)
            netlink.sendto(struct.pack("=IHHIIB3x", 20, _GET_ADDRESSES, _REQUEST_DUMP, 1, 0, socket.AF_UNSPEC), (0, 0))
            while True:
                messages = _messages(netlink.recv(65536))
                found += [address for kind, body in messages if kind == _NEW_ADDRESS and (address := _address(body))]
                if not messages or messages[-1][0] in _ENDS:
                    return found
    except (OSError, AttributeError):
        return found


def ipv4_routes(table: str) -> list[Route]:
    """Read the text of ``/proc/net/route``. Numbers in it have this machine's byte order."""
    found = []
    for line in table.splitlines()[1:]:
        interface, destination, gateway, flags, _, _, _, mask, *_ = line.split()
        prefix = int(mask, 16).bit_count()
        found.append(Route(socket.AF_INET, _ipv4(destination), prefix, _ipv4(gateway), int(flags, 16), interface))
    return found


def ipv6_routes(table: str) -> list[Route]:
    """Read the text of ``/proc/net/ipv6_route``."""
    found = []
    for line in table.splitlines():
        destination, prefix, _, _, gateway, _, _, _, flags, interface = line.split()[:10]
        route = (_ipv6(destination), int(prefix, 16), _ipv6(gateway), int(flags, 16), interface)
        found.append(Route(socket.AF_INET6, *route))
    return found


def _ipv4(number: str) -> str:
    return socket.inet_ntoa(struct.pack("=I", int(number, 16)))


def _ipv6(number: str) -> str:
    return str(ipaddress.IPv6Address(bytes.fromhex(number)))


def _messages(data: bytes) -> list[tuple[int, bytes]]:
    """Split one datagram into (type, body)."""
    messages = []
    while len(data) >= _MESSAGE_HEADER:
        length, kind = struct.unpack_from("=IH", data)
        if length < _MESSAGE_HEADER:
            break
        messages.append((kind, data[_MESSAGE_HEADER:length]))
        data = data[(length + 3) & ~3 :]
    return messages


def _address(body: bytes) -> Address | None:
    """Read one ``ifaddrmsg``. On a point-to-point link, the local address is this machine's."""
    family, prefix, _, scope, index = struct.unpack_from("=BBBBI", body)
    attributes = _attributes(body[_ADDRESS_HEADER:])
    packed = attributes.get(_LOCAL) or attributes.get(_ADDRESS)
    if family not in {socket.AF_INET, socket.AF_INET6} or packed is None:
        return None
    broadcast = attributes.get(_BROADCAST)
    try:
        name = socket.if_indextoname(index)
        return Address(
            interface=name,
            family=family,
            text=socket.inet_ntop(family, packed),
            prefix=prefix,
            broadcast=socket.inet_ntop(family, broadcast) if broadcast else "",
            label=attributes.get(_LABEL, name.encode()).rstrip(b"\0").decode(),
            scope=_SCOPES.get(scope, str(scope)),
        )
    except (OSError, ValueError):  # the interface went away meanwhile
        return None


def _attributes(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(data) >= _ATTRIBUTE_HEADER:
        length, kind = struct.unpack_from("=HH", data)
        if length < _ATTRIBUTE_HEADER:
            break
        found[kind] = data[_ATTRIBUTE_HEADER:length]
        data = data[(length + 3) & ~3 :]
    return found
