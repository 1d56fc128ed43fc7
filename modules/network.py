"""The ``network`` execution module: addresses and networks of this machine."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import TYPE_CHECKING, Any

from asyncstate.data import kernel_network
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from . import _interfaces, _routes

if TYPE_CHECKING:
    from collections.abc import Iterable


_NOT_IN_A_HOST_NAME = re.compile(r"[^a-zA-Z0-9.:_-]")


def interfaces() -> dict[str, dict[str, Any]]:
    """Return every interface: ``up``, ``hwaddr``, ``inet`` and ``inet6`` with their addresses."""
    return _interfaces.interfaces()


def interface(iface: str) -> Any:
    """Return the IPv4 addresses of an interface with netmask, broadcast and label; a message if it does not exist."""
    found = interfaces()
    return found[iface].get("inet", "") if iface in found else _no_interface(iface, found)


def interface_ip(iface: str) -> str:
    """Return the first IPv4 address of an interface, "" without one; a message if there is no such interface."""
    found = interface(iface)
    return str(found[0]["address"]) if isinstance(found, list) and found else str(found or "")


def hw_addr(iface: str) -> str:
    """Return the hardware address of an interface; a message if there is no such interface."""
    found = interfaces()
    return str(found[iface].get("hwaddr", "")) if iface in found else _no_interface(iface, found)


hwaddr = hw_addr


def ip_addrs(
    interface: str | list[str] | None = None,
    include_loopback: bool = False,
    cidr: str | None = None,
    type: str | None = None,
) -> list[str]:
    """Return the IPv4 addresses, sorted: of some interfaces, in a network, or only ``public`` or ``private`` ones."""
    found = _texts(socket.AF_INET, interface, include_loopback=include_loopback)
    if cidr:
        return [address for address in found if ip_in_subnet(address, cidr)]
    if type in {"public", "private"}:
        return [address for address in found if is_private(address) == (type == "private")]
    return found


ipaddrs = ip_addrs


def ip_addrs6(
    interface: str | list[str] | None = None, include_loopback: bool = False, cidr: str | None = None
) -> list[str]:
    """Return the IPv6 addresses, sorted: of some interfaces, or in a network."""
    found = _texts(socket.AF_INET6, interface, include_loopback=include_loopback)
    return [address for address in found if ip_in_subnet(address, cidr)] if cidr else found


ipaddrs6 = ip_addrs6


def subnets(interfaces: str | list[str] | None = None) -> list[str]:
    """Return the IPv4 networks this machine is in, loopback left out."""
    return _networks(socket.AF_INET, interfaces, include_loopback=False)


def subnets6() -> list[str]:
    """Return the IPv6 networks this machine is in, loopback left out."""
    return _networks(socket.AF_INET6, None, include_loopback=False)


def ip_networks(
    interface: str | list[str] | None = None, include_loopback: bool = False, verbose: bool = False
) -> list[str] | dict[str, dict[str, Any]]:
    """Return the IPv4 networks of some or all interfaces; with ``verbose`` what there is to know of each."""
    found = _networks(socket.AF_INET, interface, include_loopback=include_loopback)
    return _described(found) if verbose else found


def ip_networks6(
    interface: str | list[str] | None = None, include_loopback: bool = False, verbose: bool = False
) -> list[str] | dict[str, dict[str, Any]]:
    """Return the IPv6 networks of some or all interfaces; with ``verbose`` what there is to know of each."""
    found = _networks(socket.AF_INET6, interface, include_loopback=include_loopback)
    return _described(found) if verbose else found


def in_subnet(cidr: str) -> bool:
    """Return whether an IPv4 address of this machine is in a network."""
    return any(ip_in_subnet(address, cidr) for address in ip_addrs())


def ip_in_subnet(ip_addr: str | Iterable[str], cidr: str) -> bool:
    """Return whether an address, or one of several, is in a network; False if ``cidr`` is not a network."""
    try:
        network = ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False
    texts = [ip_addr] if isinstance(ip_addr, str) else ip_addr or []
    return any(_parsed(ipaddress.ip_address, text) in network for text in texts)


def calc_net(ip_addr: str, netmask: str | None = None) -> str:
    """Return the network of an address; the netmask is given separately or after a slash."""
    return str(_parsed(ipaddress.ip_network, f"{ip_addr}/{netmask}" if netmask else ip_addr, strict=False))


def convert_cidr(cidr: str) -> dict[str, str]:
    """Return network, netmask and broadcast address of a network."""
    network = ipaddress.ip_network(calc_net(cidr))
    return {
        "network": str(network.network_address),
        "netmask": str(network.netmask),
        "broadcast": str(network.broadcast_address),
    }


def is_private(ip_addr: str) -> bool:
    """Return whether an address is private."""
    return bool(_parsed(ipaddress.ip_address, ip_addr).is_private)


def is_loopback(ip_addr: str) -> bool:
    """Return whether an address is a loopback one."""
    return bool(_parsed(ipaddress.ip_address, ip_addr).is_loopback)


def reverse_ip(ip_addr: str) -> str:
    """Return the DNS name for the reverse lookup of an address."""
    return str(_parsed(ipaddress.ip_address, ip_addr).reverse_pointer)


def ifacestartswith(cidr: str) -> list[str]:
    """Return the interfaces that have an IPv4 address beginning with ``cidr``."""
    wanted = cidr.split(".", maxsplit=1)[0] if "/" in cidr else cidr
    return [
        name
        for name, entry in interfaces().items()
        if any(str(address["address"]).startswith(wanted) for address in entry.get("inet", []))
    ]


def routes(family: str | None = None) -> list[dict[str, str]]:
    """Return the routing table, of ``inet`` or ``inet6`` alone or of both: destination, gateway, flags, interface."""
    return _routes.table(_family(family))


def default_route(family: str | None = None) -> list[dict[str, str]]:
    """Return the default routes, of ``inet`` or ``inet6`` alone or of both, as `routes` does."""
    return [route for route in routes(family) if route["destination"] in _routes.DEFAULT]


def get_route(ip: str) -> dict[str, Any]:
    """Return how an address is reached: ``destination``, ``gateway``, ``interface`` and ``source``."""
    address = _parsed(ipaddress.ip_address, ip)
    answer = str(__salt__["cmd.run"](["ip", f"-{address.version}", "route", "get", str(address)], python_shell=False))
    words = answer.split()
    named = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word in {"via", "dev", "src"}}
    return {
        "destination": str(address),
        "gateway": named.get("via"),
        "interface": named.get("dev"),
        "source": named.get("src"),
    }


def iphexval(ip: str) -> str:
    """Return an IPv4 address in hexadecimal: ``10.0.0.1`` is ``0A000001``."""
    return f"{int(_parsed(ipaddress.IPv4Address, ip)):08X}"


def get_hostname() -> str:
    """Return the host name."""
    return socket.gethostname()


def get_fqdn() -> str:
    """Return the fully qualified name, as the resolver knows it."""
    return socket.getfqdn()


def ping(host: str, timeout: float | None = None, return_boolean: bool = False) -> str | bool:
    """Send four pings and return the output, or whether they came back."""
    argv = ["ping", "-c", "4", *(["-W", str(timeout)] if timeout else []), "--", _NOT_IN_A_HOST_NAME.sub("", host)]
    if return_boolean:
        return bool(__salt__["cmd.retcode"](argv, ignore_retcode=True) == 0)
    return str(__salt__["cmd.run"](argv))


def connect(host: str, port: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Try to connect, and return ``result`` and ``comment``. ``timeout`` (5 s), ``family`` (ipv4, ipv6), ``proto``."""
    for name, value in (("host", host), ("port", port)):
        if not value:
            return {"result": False, "comment": f"Required argument, {name}, is missing."}
    proto = "udp" if kwargs.get("proto") == "udp" else "tcp"
    family = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}.get(kwargs.get("family") or "", socket.AF_UNSPEC)
    kind = socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM
    try:
        found = socket.getaddrinfo(host, port, family, kind)[0]
    except OSError:
        return {"result": False, "comment": f"Unable to resolve host {host} on {proto} port {port}"}
    address = f"{host} ({found[4][0]}) on {proto} port {port}"
    try:
        with socket.socket(found[0], kind) as connection:
            connection.settimeout(float(kwargs.get("timeout") or 5))
            connection.connect(found[4])
    except (OSError, ValueError):
        return {"result": False, "comment": f"Unable to connect to {address}"}
    return {"result": True, "comment": f"Successfully connected to {address}"}


def _no_interface(iface: str, found: dict[str, Any]) -> str:
    """Return Salt's sentence, which templates get instead of an error."""
    names = '", "'.join(found)
    return f'Interface "{iface}" not in available interfaces: "{names}"'


def _family(family: str | None) -> str | None:
    if family not in {None, "inet", "inet6"}:
        raise CommandExecutionError(f"Invalid address family {family}")
    return family


def _wanted(family: int, interface: str | list[str] | None, *, include_loopback: bool) -> list[kernel_network.Address]:
    names = interface.split(",") if isinstance(interface, str) else interface
    return [
        address
        for address in kernel_network.addresses()
        if address.family == family
        and (not names or address.interface in names)
        and (include_loopback or not ipaddress.ip_address(address.text).is_loopback)
    ]


def _texts(family: int, interface: str | list[str] | None, *, include_loopback: bool) -> list[str]:
    found = {address.text for address in _wanted(family, interface, include_loopback=include_loopback)}
    return sorted(found, key=lambda text: socket.inet_pton(family, text))


def _networks(family: int, interface: str | list[str] | None, *, include_loopback: bool) -> list[str]:
    return sorted({str(address.network) for address in _wanted(family, interface, include_loopback=include_loopback)})


def _described(networks: list[str]) -> dict[str, dict[str, Any]]:
    return {
        text: {
            "address": str(network.network_address),
            "netmask": str(network.netmask),
            "num_addresses": network.num_addresses,
            "prefixlen": network.prefixlen,
        }
        for text in networks
        for network in [ipaddress.ip_network(text)]
    }


def _parsed(parse: Any, text: str, **options: Any) -> Any:
    try:
        return parse(text, **options)
    except ValueError as error:
        raise CommandExecutionError(str(error)) from error
