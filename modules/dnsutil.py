"""The ``dnsutil`` execution module: names and addresses, by the system's resolver or the ``dig`` program."""

from __future__ import annotations

import ipaddress
import socket
import time
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_NO_DIG = "This function requires dig, which is not currently available"


def check_ip(ip_addr: str) -> bool:
    """Return whether a string is an address, with or without a prefix length."""
    try:
        ipaddress.ip_interface(str(ip_addr))
    except ValueError:
        return False
    return True


def parse_hosts(hostsfile: str = "/etc/hosts", hosts: str | None = None) -> Any:
    """Return the names of each address in a hosts file, or in its text; a sentence if there is no such file."""
    if not hosts:
        try:
            with filesystem.open_text(hostsfile) as file:
                hosts = file.read()
        except (OSError, ValueError):
            return "Error: hosts data was not found"
    found: dict[str, list[str]] = {}
    for line in hosts.splitlines():
        if line.strip() and not line.startswith("#"):
            address, *names = line.split()
            found.setdefault(address, []).extend(names)
    return found


def A(host: str, nameserver: str | None = None) -> Any:  # noqa: N802 - Salt's name
    """Return the IPv4 addresses of a name. With a ``nameserver`` needs dig."""
    return _dig(host, "A", nameserver) if nameserver else _resolved(host, socket.AF_INET)


def AAAA(host: str, nameserver: str | None = None) -> Any:  # noqa: N802 - Salt's name
    """Return the IPv6 addresses of a name. With a ``nameserver`` needs dig."""
    return _dig(host, "AAAA", nameserver) if nameserver else _resolved(host, socket.AF_INET6)


def NS(domain: str, resolve: bool = True, nameserver: str | None = None) -> Any:  # noqa: N802 - Salt's name
    """Return the name servers of a domain, as addresses if ``resolve``. Needs dig."""
    names = _dig(domain, "NS", nameserver)
    return [address for name in names for address in _dig(name, "A", nameserver)] if resolve else names


def MX(domain: str, resolve: bool = False, nameserver: str | None = None) -> Any:  # noqa: N802 - Salt's name
    """Return preference and name of the mail servers of a domain, as addresses if ``resolve``. Needs dig."""
    found = [line.split() for line in _dig(domain, "MX", nameserver)]
    if resolve:
        found = [[preference, *_dig(name, "A", nameserver)[:1]] for preference, name in found]
    return found


def SPF(domain: str, record: str = "SPF", nameserver: str | None = None) -> Any:  # noqa: N802 - Salt's name
    """Return the networks that may send mail for a domain, from its ``record`` or its TXT records. Needs dig."""
    lines = _dig(domain, record, nameserver) or _dig(domain, "TXT", nameserver)
    words = [word for line in lines if "v=spf" in line for word in line.replace('"', "").split()]
    return [word.partition(":")[2] for word in words if word.startswith(("ip4:", "ip6:"))]


def serial(zone: str = "", update: bool = False) -> str:
    """Return a serial number for a zone, today's first one."""
    return time.strftime("%Y%m%d01")


def _resolved(host: str, family: int) -> list[str] | str:
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)
    except OSError:
        return f"Unable to resolve {host}"
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _dig(name: str, record: str, nameserver: str | None) -> list[str]:
    if not __salt__["cmd.has_exec"]("dig"):
        raise CommandExecutionError(_NO_DIG)
    server = [f"@{nameserver}"] if nameserver else []
    output: str = __salt__["cmd.run_stdout"](["dig", *server, "+short", "-q", str(name), "-t", record])
    return [line.rstrip(".") for line in output.splitlines() if line]
