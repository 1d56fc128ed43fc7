"""The routing tables of the kernel, with Salt's keys and the letters of netstat."""

from __future__ import annotations

import ipaddress
import socket

from asyncstate.data.kernel_network import Route, ipv4_routes, ipv6_routes

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
    """Return the routes of ``inet``, ``inet6`` or both, with Salt's keys; [] if the kernel has no such table."""
    found: list[Route] = []
    if family != "inet6":
        found += ipv4_routes(_text(_IPV4))
    if family != "inet":
        found += ipv6_routes(_text(_IPV6))
    return [_described(route) for route in found]


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def _described(route: Route) -> dict[str, str]:
    is_ipv4 = route.family == socket.AF_INET
    return {
        "addr_family": "inet" if is_ipv4 else "inet6",
        "destination": route.destination if is_ipv4 else f"{route.destination}/{route.prefix}",
        "gateway": route.gateway,
        "netmask": str(ipaddress.IPv4Network((0, route.prefix)).netmask) if is_ipv4 else "",
        "flags": _letters(route.flags),
        "interface": route.interface,
    }


def _letters(bits: int) -> str:
    return "".join(letter for bit, letter in _FLAGS if bits & bit and not (letter == "U" and bits & _REJECT))
