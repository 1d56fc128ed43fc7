import ipaddress
import socket
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.data import kernel_network
from asyncstate.data.kernel_network import Address, Route, addresses, ipv4_routes, ipv6_routes


def number(address):
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"


@given(st.lists(st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 32), st.integers(0, 2**31))))
def test_ipv4_routes_are_read_as_the_kernel_writes_them(routes):
    lines = ["Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   "]
    for destination, gateway, prefix, flags in routes:
        mask = number(str(ipaddress.IPv4Network((0, prefix)).netmask))
        columns = ("eth0", number(str(destination)), number(str(gateway)), f"{flags:04X}", "0", "0", "100", mask)
        lines.append("\t".join((*columns, "0", "0", "0")))
    assert ipv4_routes("\n".join(lines)) == [
        Route(socket.AF_INET, str(destination), prefix, str(gateway), flags, "eth0")
        for destination, gateway, prefix, flags in routes
    ]


@given(st.lists(st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6), st.integers(0, 128), st.integers(0, 2**31))))
def test_ipv6_routes_are_read_as_the_kernel_writes_them(routes):
    zero = "0" * 32
    lines = [
        f"{destination.packed.hex()} {prefix:02x} {zero} 00 {gateway.packed.hex()} 00000400 1 0 {flags:08x}     eth0"
        for destination, gateway, prefix, flags in routes
    ]
    assert ipv6_routes("\n".join(lines)) == [
        Route(socket.AF_INET6, str(destination), prefix, str(gateway), flags, "eth0")
        for destination, gateway, prefix, flags in routes
    ]


def test_a_kernel_without_a_table_has_no_routes():
    assert ipv4_routes("") == ipv6_routes("") == []


def attribute(kind, value):
    return struct.pack("=HH", len(value) + 4, kind) + value + b"\0" * (-len(value) % 4)


class FakeNetlink:
    """A socket that answers a request with these datagrams."""

    def __init__(self, *datagrams):
        self.datagrams = list(datagrams)

    def __call__(self, *_):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def settimeout(self, seconds):
        assert seconds

    def sendto(self, data, address):
        assert struct.unpack_from("=IH", data) == (len(data), 22)

    def recv(self, size):
        if not self.datagrams:
            raise TimeoutError
        return self.datagrams.pop(0)


def message(kind, body):
    return struct.pack("=IHHII", len(body) + 16, kind, 0, 1, 0) + body


def name_of(index):
    if index != 7:
        raise OSError("no such interface")
    return "eth0"


DONE = message(3, b"\0\0\0\0")


def test_addresses_are_read_from_all_datagrams(monkeypatch):
    ipv4 = struct.pack("=BBBBI", socket.AF_INET, 24, 0, 0, 7)
    ipv4 += attribute(1, socket.inet_aton("10.0.0.1")) + attribute(2, socket.inet_aton("10.0.0.7"))
    ipv4 += attribute(4, socket.inet_aton("10.0.0.255")) + attribute(3, b"eth0:1\0")
    ipv6 = struct.pack("=BBBBI", socket.AF_INET6, 64, 0, 253, 7)
    ipv6 += attribute(1, socket.inet_pton(socket.AF_INET6, "fe80::1"))
    other = struct.pack("=BBBBI", socket.AF_UNIX, 0, 0, 0, 7) + attribute(1, b"abcd")
    gone = struct.pack("=BBBBI", socket.AF_INET, 8, 0, 0, 8) + attribute(1, socket.inet_aton("127.0.0.1"))
    datagrams = (message(20, ipv4) + message(20, other), message(20, gone) + message(20, ipv6), DONE)
    monkeypatch.setattr(socket, "socket", FakeNetlink(*datagrams))
    monkeypatch.setattr(socket, "if_indextoname", name_of)
    found = addresses()
    assert found == [
        Address("eth0", socket.AF_INET, "10.0.0.7", 24, "10.0.0.255", "eth0:1", "global"),
        Address("eth0", socket.AF_INET6, "fe80::1", 64, "", "eth0", "link"),
    ]
    assert found[0].network == ipaddress.ip_network("10.0.0.0/24")


@pytest.mark.parametrize("datagrams", [(), (b"",), (b"\x03" * 20,), (message(2, b"\0" * 4),)])
def test_a_kernel_that_does_not_answer_has_no_addresses(monkeypatch, datagrams):
    monkeypatch.setattr(socket, "socket", FakeNetlink(*datagrams))
    assert kernel_network.addresses() == []
