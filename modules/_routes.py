"""The routing tables of the kernel, from /proc/net: no program is needed for it."""

from __future__ import annotations

import ipaddress
import socket
import struct

DEFAULT = frozenset({"0.0.0.0", "::/0"})  # noqa: S104 - the destination of a default route, nothing listens there

_IPV4 = "/proc/net/route"
_IPV6 = "/proc/net/ipv6_route"
_REJECT = 0x200
_FLAGS = (  # RTF_*, in the order and with the letters of netstat
    (0x1, "U"),
    (0x2, "G"),
    (_REJECT, "!"),
    (0x4, "H"),
    (0x8, "R"),
    (0x10, "D"),
    (0x20, "M"),
    (0x10000, "d"),
    (0x20000, "a"),
    (0x40000, "c"),
    (0x200000, "o"),
    (0x400000, "e"),
    (0x1000000, "c"),
    (0x2000000, "f"),
    (0x4000000, "p"),
    (0x80000000, "l"),
    (0x40, "u"),
    (0x80, "w"),
    (0x100, "i"),
    (0x8000000, "n"),
)


def table(family: str | None = None) -> list[dict[str, str]]:
    """Return the routes of ``inet``, ``inet6`` or both, with Salt's keys; [] where the kernel has no such table."""
    found = []
    if family != "inet6":
        found += [_ipv4(line.split()) for line in _lines(_IPV4)[1:]]
    if family != "inet":
        found += [_ipv6(line.split()) for line in _lines(_IPV6)]
    return found


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _ipv4(columns: list[str]) -> dict[str, str]:
    interface, destination, gateway, flags, _, _, _, mask = columns[:8]
    bits = int(flags, 16)
    return {
        "addr_family": "inet",
        "destination": _dotted(destination),
        "gateway": _dotted(gateway),
        "netmask": _dotted(mask),
        "flags": _letters(bits),
        "interface": interface,
    }


def _ipv6(columns: list[str]) -> dict[str, str]:
    destination, prefix, _, _, gateway, _, _, _, flags, interface = columns[:10]
    return {
        "addr_family": "inet6",
        "destination": f"{ipaddress.IPv6Address(bytes.fromhex(destination))}/{int(prefix, 16)}",
        "gateway": str(ipaddress.IPv6Address(bytes.fromhex(gateway))),
        "netmask": "",
        "flags": _letters(int(flags, 16)),
        "interface": interface,
    }


def _dotted(number: str) -> str:
    """Return an address the kernel prints as a number in this machine's byte order."""
    return socket.inet_ntoa(struct.pack("=I", int(number, 16)))


def _letters(bits: int) -> str:
    return "".join(letter for bit, letter in _FLAGS if bits & bit and not (letter == "U" and bits & _REJECT))
