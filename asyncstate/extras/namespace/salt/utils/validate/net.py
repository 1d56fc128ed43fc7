"""Validation of network addresses."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

_MAC = re.compile(r"[0-9a-f]{1,2}([-:.])(?:[0-9a-f]{1,2}\1){4}[0-9a-f]{1,2}\Z", re.IGNORECASE)


def mac(addr: str) -> bool:
    """Return whether this is a hardware address."""
    return _MAC.match(addr.removesuffix("\n")) is not None


def ipv4_addr(addr: Any) -> bool:
    """Return whether this is an IPv4 address, perhaps with a prefix length."""
    return _is_address(addr, socket.AF_INET, 32)


def ipv6_addr(addr: Any) -> bool:
    """Return whether this is an IPv6 address, perhaps with a prefix length."""
    return _is_address(addr, socket.AF_INET6, 128)


def ip_addr(addr: Any) -> bool:
    """Return whether this is an address, perhaps with a prefix length."""
    return ipv4_addr(addr) or ipv6_addr(addr)


def netmask(mask: Any) -> bool:
    """Return whether this is a netmask, in dots or as a length."""
    try:
        ipaddress.IPv4Network(f"0.0.0.0/{mask}" if isinstance(mask, str) else "")
    except ValueError:
        return False
    return True


def _is_address(addr: Any, family: int, bits: int) -> bool:
    if not isinstance(addr, str):
        return False
    address, slash, length = addr.rpartition("/")
    try:
        socket.inet_pton(family, address if slash else length)
        return not slash or 1 <= int(length) <= bits
    except (OSError, ValueError):
        return False


__getattr__: ModuleGetattr = nothing_else(__name__)
