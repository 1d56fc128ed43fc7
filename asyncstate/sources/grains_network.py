"""Grains of the network: names, interfaces, addresses, gateways. No name server is ever asked."""

from __future__ import annotations

import socket
import struct
from typing import Any, NamedTuple

from asyncstate.sources.system_files import list_names, read_text

_GET_ADDRESSES = 22  # RTM_GETADDR
_NEW_ADDRESS = 20  # RTM_NEWADDR
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_DONE, _ERROR = 3, 2
_ADDRESS, _LOCAL = 1, 2  # attributes IFA_ADDRESS, IFA_LOCAL


class _Address(NamedTuple):
    family: int
    interface: str
    text: str


def name_grains(nodename: str, root: str = "/") -> dict[str, Any]:
    """Return localhost, fqdn, host, domain and machine_id; a domain comes from the name itself or ``etc/hosts``."""
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
    addresses = _addresses()
    names = list_names(root, "sys/class/net") or sorted({address.interface for address in addresses})
    inet = [address for address in addresses if address.family == socket.AF_INET]
    inet6 = [address for address in addresses if address.family == socket.AF_INET6]

    def by_interface(found: list[_Address]) -> dict[str, list[str]]:
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


def _sorted(addresses: list[_Address]) -> list[str]:
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


def _addresses() -> list[_Address]:
    """Ask the kernel for the addresses of all interfaces (rtnetlink); [] where that is not possible."""
    found: list[_Address] = []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            netlink.settimeout(1)
            netlink.sendto(struct.pack("=IHHIIB3x", 20, _GET_ADDRESSES, _REQUEST_DUMP, 1, 0, socket.AF_UNSPEC), (0, 0))
            while True:
                messages = _split_messages(netlink.recv(65536))
                found += [address for kind, body in messages if kind == _NEW_ADDRESS and (address := _address(body))]
                if not messages or messages[-1][0] in {_DONE, _ERROR}:
                    return found
    except (OSError, AttributeError):  # another system, or a sandbox that forbids it
        return found


def _split_messages(data: bytes) -> list[tuple[int, bytes]]:
    """Split one datagram into (type, body)."""
    messages = []
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if length < 16:
            break
        messages.append((kind, data[16:length]))
        data = data[(length + 3) & ~3 :]
    return messages


def _address(body: bytes) -> _Address | None:
    """Read one ``ifaddrmsg``. The local address is this side of a point-to-point link."""
    family, _, _, _, index = struct.unpack_from("=BBBBI", body)
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
        return None
    try:
        return _Address(family, socket.if_indextoname(index), socket.inet_ntop(family, packed))
    except (OSError, ValueError):  # the interface went away meanwhile
        return None


def _resolver(root: str) -> dict[str, Any]:
    """Return the ``dns`` grain: what resolv.conf says."""
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
    """Return ip4_gw and ip6_gw (the address, True for a default route without one, or False) and ip_gw."""
    ip4: str | bool = False
    for line in read_text(root, "proc/net/route").splitlines()[1:]:
        _, destination, gateway, flags, *_ = line.split()
        if destination == "00000000" and int(flags, 16) & 1:
            ip4 = socket.inet_ntop(socket.AF_INET, bytes.fromhex(gateway)[::-1]) if gateway != "00000000" else True
            break
    ip6: str | bool = False
    for line in read_text(root, "proc/net/ipv6_route").splitlines():
        destination, prefix, _, _, gateway, _, _, _, flags, interface = line.split()
        if int(destination, 16) == 0 and prefix == "00" and interface != "lo" and int(flags, 16) & 1:
            ip6 = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(gateway)) if int(gateway, 16) else True
            break
    return {"ip4_gw": ip4, "ip6_gw": ip6, "ip_gw": bool(ip4 or ip6)}
