"""Grains of the network: names, interfaces, addresses, gateways. No name server is ever queried."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from asyncstate.data.kernel_network import addresses as kernel_addresses
from asyncstate.data.kernel_network import ipv4_routes, ipv6_routes
from asyncstate.sources.machine import list_names, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.data.kernel_network import Address, Route

_UP = 1  # RTF_UP
_ANY_IPV4 = "0.0.0.0"  # noqa: S104 - the destination of a default route, not an address to listen on


def name_grains(nodename: str, root: str = "/") -> dict[str, Any]:
    """Return localhost, fqdn, host, domain and machine_id. The domain comes from the node name or ``etc/hosts``."""
    fqdn = nodename
    if "." not in nodename:
        fqdn = next((names[0] for _, names in _hosts(root) if nodename in names), nodename) or "localhost.localdomain"
    host, _, domain = fqdn.partition(".")
    machine_id = read_text(root, "etc/machine-id").strip() or read_text(root, "var/lib/dbus/machine-id").strip()
    grains = {"localhost": nodename, "fqdn": fqdn, "host": host, "domain": domain, "fqdns": []}
    return grains | ({"machine_id": machine_id} if machine_id else {})


def _hosts(root: str) -> list[tuple[str, list[str]]]:
    lines = (line.partition("#")[0].split() for line in read_text(root, "etc/hosts").splitlines())
    return [(words[0], words[1:]) for words in lines if len(words) > 1]


def address_grains(fqdn: str, root: str = "/") -> dict[str, Any]:
    """Return the interface, address, gateway and resolver grains."""
    addresses = kernel_addresses()
    names = list_names(root, "sys/class/net") or sorted({address.interface for address in addresses})
    inet = [address for address in addresses if address.family == socket.AF_INET]
    inet6 = [address for address in addresses if address.family == socket.AF_INET6]

    def by_interface(found: list[Address]) -> dict[str, list[str]]:
        return {name: [address.text for address in found if address.interface == name] for name in names}

    return {
        "ip_interfaces": by_interface(inet + inet6),
        "ip4_interfaces": by_interface(inet),
        "ip6_interfaces": by_interface(inet6),
        "ipv4": _sorted(inet),
        "ipv6": _sorted(inet6),
        "fqdn_ip4": _in_hosts(socket.AF_INET, fqdn, root),
        "fqdn_ip6": _in_hosts(socket.AF_INET6, fqdn, root),
        "hwaddr_interfaces": _hardware_addresses(names, root),
        "dns": _resolver(root),
        **_gateways(root),
    }


def _hardware_addresses(names: list[str], root: str) -> dict[str, str]:
    found = {name: read_text(root, f"sys/class/net/{name}/address").strip() for name in names}
    return {name: address for name, address in found.items() if address}


def _sorted(addresses: list[Address]) -> list[str]:
    by_number = {socket.inet_pton(address.family, address.text): address.text for address in addresses}
    return [by_number[number] for number in sorted(by_number)]


def _in_hosts(family: int, name: str, root: str) -> list[str]:
    return [text for text, names in _hosts(root) if name in names and _is_of_family(family, text)]


def _is_of_family(family: int, text: str) -> bool:
    try:
        socket.inet_pton(family, text)
    except OSError:
        return False
    return True


def _resolver(root: str) -> dict[str, Any]:
    """Return the ``dns`` grain, read from resolv.conf."""
    words: dict[str, list[str]] = {"nameserver": [], "search": [], "domain": [], "options": [], "sortlist": []}
    for line in read_text(root, "etc/resolv.conf").splitlines():
        key, _, value = line.partition("#")[0].partition(";")[0].strip().partition(" ")
        if key == "nameserver":
            words[key] += value.split()[:1]
        elif key in words:
            words[key] = value.split()
    servers = words["nameserver"]
    return {
        "nameservers": servers,
        "ip4_nameservers": [server for server in servers if _is_of_family(socket.AF_INET, server)],
        "ip6_nameservers": [server for server in servers if _is_of_family(socket.AF_INET6, server.partition("%")[0])],
        "sortlist": words["sortlist"],
        "domain": " ".join(words["domain"]),
        "search": words["search"],
        "options": words["options"],
    }


def _gateways(root: str) -> dict[str, Any]:
    """Return ip4_gw and ip6_gw (an address, True for a default route without one, or False) and ip_gw."""
    ip4 = _gateway(route for route in ipv4_routes(read_text(root, "proc/net/route")) if route.destination == _ANY_IPV4)
    ip6 = _gateway(
        route
        for route in ipv6_routes(read_text(root, "proc/net/ipv6_route"))
        if route.destination == "::" and route.prefix == 0 and route.interface != "lo"
    )
    return {"ip4_gw": ip4, "ip6_gw": ip6, "ip_gw": bool(ip4 or ip6)}


def _gateway(routes: Iterable[Route]) -> str | bool:
    for route in routes:
        if route.flags & _UP:
            return True if route.gateway in {_ANY_IPV4, "::"} else route.gateway
    return False
