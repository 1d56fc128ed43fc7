"""Addresses and networks, and the two functions that use the network: ``dns_check`` and ``http_query``."""

from __future__ import annotations

import ipaddress
import random
import socket
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from asyncstate.data.limits import TooMuch
from asyncstate.errors import CommandExecutionError

_MOST_HOSTS: Final = 1 << 20
_SEVERAL: Final = (list, tuple, types.GeneratorType)

_PROPERTIES: Final[dict[str, Callable[[Any], bool]]] = {
    "global": lambda address: not address.is_private,
    "link-local": lambda address: bool(address.is_link_local),
    "loopback": lambda address: bool(address.is_loopback),
    "multicast": lambda address: bool(address.is_multicast),
    "private": lambda address: bool(address.is_private),
    "reserved": lambda address: bool(address.is_reserved),
    "site-local": lambda address: bool(address.version == 6 and address.is_site_local),
    "unspecified": lambda address: bool(address.is_unspecified),
}
_SYNONYMS: Final = {
    "linklocal": "link-local",
    "ll": "link-local",
    "link_local": "link-local",
    "lo": "loopback",
    "public": "global",
    "sl": "site-local",
    "site_local": "site-local",
}


def _address(value: Any, version: int, options: str | None) -> str | None:
    """Return the normalised address or interface if it has this version and all properties in ``options``."""
    parsed: Any
    try:
        parsed = ipaddress.ip_address(value)
    except ValueError:
        try:
            parsed = ipaddress.ip_interface(value)
        except ValueError:
            return None
    if parsed.version != version:
        return None
    for option in (options or "").split(","):
        name = option.strip()
        holds = _PROPERTIES.get(_SYNONYMS.get(name, name))
        if holds is not None and not holds(parsed):
            return None
    return str(parsed)


def _filtered(value: Any, version: int, options: str | None) -> Any:
    if isinstance(value, (str, bytes)):
        return _address(value, version, options)
    if isinstance(value, _SEVERAL):
        found = (_address(item, version, options) for item in value)
        return [address for address in found if address is not None]
    return None


def ipv4(value: Any, options: str | None = None) -> Any:
    """Return the address if it is IPv4, or the IPv4 addresses of a list; ``options`` name required properties."""
    return _filtered(value, 4, options)


def ipv6(value: Any, options: str | None = None) -> Any:
    """Return the address if it is IPv6, or the IPv6 addresses of a list; ``options`` name required properties."""
    return _filtered(value, 6, options)


def ipaddr(value: Any, options: str | None = None) -> Any:
    """Return the value if it is an address, or the addresses of a list, IPv4 first."""
    if isinstance(value, types.GeneratorType):
        value = list(value)
    four, six = ipv4(value, options), ipv6(value, options)
    return four or six if four is None or six is None else four + six


def is_ipv4(ip_addr: Any, options: str | None = None) -> bool:
    """Return whether the value is an IPv4 address."""
    return _address(ip_addr, 4, options) is not None


def is_ipv6(ip_addr: Any, options: str | None = None) -> bool:
    """Return whether the value is an IPv6 address."""
    return _address(ip_addr, 6, options) is not None


def is_ip(ip_addr: Any, options: str | None = None) -> bool:
    """Return whether the value is an address."""
    return is_ipv4(ip_addr, options) or is_ipv6(ip_addr, options)


def _each(value: Any, options: str | None, version: int | None, function: Callable[[str], Any]) -> Any:
    """Apply ``function`` to the addresses in ``value``: a list for several, one result for one, None for none."""
    several = isinstance(value, _SEVERAL)
    chosen = {4: ipv4, 6: ipv6}.get(version or 0, ipaddr)(value, options)
    if not chosen:
        return None
    if several:
        return [function(address) for address in chosen]
    return function(chosen if isinstance(chosen, str) else chosen[0])


def ip_host(value: Any, options: str | None = None, version: int | None = None) -> Any:
    """Return the interface form of an address, ``192.168.0.1/28``."""
    return _each(value, options, version, lambda address: str(ipaddress.ip_interface(address)))


def network_hosts(value: Any, options: str | None = None, version: int | None = None) -> Any:
    """Return the hosts of a network. Raises TooMuch for one of more than a million."""
    return _each(value, options, version, _hosts)


def _hosts(address: str) -> list[str]:
    network = ipaddress.ip_network(address, strict=False)
    if network.num_addresses > _MOST_HOSTS:
        raise TooMuch(f"the network {address} has more than {_MOST_HOSTS:,} hosts")
    return [str(host) for host in network.hosts()]


def network_size(value: Any, options: str | None = None, version: int | None = None) -> Any:
    """Return the number of addresses of a network."""
    return _each(value, options, version, lambda address: ipaddress.ip_network(address, strict=False).num_addresses)


def filter_by_networks(values: Any, networks: Iterable[str] | None) -> Any:
    """Return the addresses in one of the networks, from a list or from each list in a dict."""
    if networks is None:
        return values
    nets = [ipaddress.ip_network(network) for network in networks]

    def inside(addresses: Iterable[str]) -> list[str]:
        return [address for address in addresses for net in nets if ipaddress.ip_address(address) in net]

    if isinstance(values, Mapping):
        return {interface: inside(addresses) for interface, addresses in values.items()}
    if isinstance(values, Sequence):
        return inside(values)
    raise ValueError(f"Do not know how to filter a {type(values)}")


def _bracketed(address: Any) -> str:
    parsed = ipaddress.ip_address(str(address).lstrip("[").rstrip("]"))
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)


def ipwrap(data: Any) -> Any:
    """Put an IPv6 address, or those in a list, in brackets; other values stay unchanged."""
    if isinstance(data, (list, tuple)):
        return [_bracketed(item) if is_ipv6(item) else item for item in data]
    return _bracketed(data) if is_ipv6(data) else data


def mac_str_to_bytes(mac_str: str) -> bytes:
    """Return the six bytes of a hardware address, with or without separators."""
    if len(mac_str) == 17:
        mac_str = mac_str.replace(mac_str[2], "")
    elif len(mac_str) != 12:
        raise ValueError("Invalid MAC address")
    return bytes.fromhex(mac_str)


def gen_mac(prefix: str = "AC:DE:48") -> str:
    """Return a random hardware address with this prefix."""
    return ":".join([prefix, *(f"{random.randint(0, 255):02X}" for _ in range(3))])  # noqa: S311 - not used for secrets


def dns_check(addr: str, port: int, safe: bool = False, ipv6: bool | None = None) -> str:  # noqa: ARG001 - Salt's argument; both ways end in the same error here
    """Return the address a name resolves to, preferring one that accepts connections on ``port``.

    Raises CommandExecutionError if there is none.
    """
    family = {True: socket.AF_INET6, False: socket.AF_INET, None: socket.AF_UNSPEC}[ipv6]
    found = _resolved(addr, port, family)
    if not found and ipv6:
        found = _resolved(addr, port, socket.AF_INET)
    if not found:
        raise CommandExecutionError(f"DNS lookup or connection check of '{addr}' failed.")
    return _bracketed(
        next((address for address, kind in found.items() if _accepts(address, port, kind)), next(iter(found)))
    )


def _resolved(addr: str, port: int, family: int) -> dict[str, int]:
    try:
        answers = socket.getaddrinfo(addr, port, family, socket.SOCK_STREAM)
    except TypeError:
        raise CommandExecutionError(
            f"Attempt to resolve address '{addr}' failed. Invalid or unresolveable address"
        ) from None
    except OSError:
        return {}
    return {str(answer[4][0]): answer[0] for answer in answers}


def _accepts(address: str, port: int, family: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            connection.connect((address, port))
    except OSError:
        return False
    return True


def http_query(  # noqa: PLR0917 - Salt's argument order
    url: str,
    method: str = "GET",
    params: Mapping[str, Any] | None = None,
    data: Any = None,
    header_dict: Mapping[str, str] | None = None,
    username: str | None = None,
    password: str | None = None,
    decode: bool = False,
    decode_type: str = "auto",
    status: bool = False,
    headers: bool = False,
    text: bool = False,
    timeout: float = 30,
    **_other: Any,
) -> dict[str, Any]:
    """Make an HTTP request; returns ``{"body": text}`` and other requested keys, ``{"error": …}`` on failure.

    It supports the common arguments of ``salt.utils.http.query``; the others are accepted and have no effect.
    """
    from asyncstate.data.http import query  # noqa: PLC0415 - urllib is slow to import and rarely needed

    return query(
        url,
        method=method,
        params=params,
        data=data,
        headers=header_dict,
        credentials=(username, password) if username and password else None,
        decode_as=decode_type if decode else None,
        wanted={"status": status, "headers": headers, "text": text},
        timeout=timeout,
    )
