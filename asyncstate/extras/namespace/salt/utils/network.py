"""Addresses and interfaces; those of this host come from ``__salt__["network.…"]``."""

from __future__ import annotations

import socket
from typing import Any

from asyncstate.data.network import (
    filter_by_networks,
    gen_mac,
    ip_host,
    ipaddr,
    ipv4,
    ipv6,
    is_ip,
    is_ipv4,
    is_ipv6,
    mac_str_to_bytes,
    network_hosts,
    network_size,
)
from asyncstate.data.network import is_ip as is_ip_filter
from asyncstate.data.network import is_ipv4 as is_ipv4_filter
from asyncstate.data.network import is_ipv6 as is_ipv6_filter
from asyncstate.dunders.context import current
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = [
    "filter_by_networks",
    "gen_mac",
    "get_fqhostname",
    "host_to_ips",
    "hw_addr",
    "interfaces",
    "ip_addrs",
    "ip_addrs6",
    "ip_host",
    "ipaddr",
    "ipv4",
    "ipv6",
    "is_ip",
    "is_ip_filter",
    "is_ipv4",
    "is_ipv4_filter",
    "is_ipv6",
    "is_ipv6_filter",
    "mac_str_to_bytes",
    "network_hosts",
    "network_size",
    "subnets",
]


def host_to_ips(host: str) -> list[str] | None:
    """Return the addresses of a name, None if it has none."""
    try:
        found = socket.getaddrinfo(host, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found)) or None


def get_fqhostname() -> str:
    """Return the full name of this host."""
    return str(current.get().grains.get("fqdn") or socket.getfqdn())


def interfaces() -> Any:
    """Return every interface with its addresses."""
    return _ask("interfaces")


def ip_addrs(*args: Any, **kwargs: Any) -> Any:
    """Return the IPv4 addresses of this host."""
    return _ask("ip_addrs", *args, **kwargs)


def ip_addrs6(*args: Any, **kwargs: Any) -> Any:
    """Return the IPv6 addresses of this host."""
    return _ask("ip_addrs6", *args, **kwargs)


def hw_addr(iface: str) -> Any:
    """Return the hardware address of an interface."""
    return _ask("hw_addr", iface)


def subnets(*args: Any, **kwargs: Any) -> Any:
    """Return the IPv4 networks this host is in."""
    return _ask("subnets", *args, **kwargs)


def _ask(function: str, *args: Any, **kwargs: Any) -> Any:
    return current.get().salt[f"network.{function}"](*args, **kwargs)


__getattr__: ModuleGetattr = nothing_else(__name__)
