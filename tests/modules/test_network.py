from __future__ import annotations

import ipaddress
import socket
import sys

import pytest
from asyncstate.modules import _interfaces, _routes, network
from plugin_harness import PluginHarness

from asyncstate.data import kernel_network
from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "network")
    return harness


@pytest.fixture
def addresses(monkeypatch):
    def address(interface, text, prefix, broadcast=""):
        family = socket.AF_INET6 if ":" in text else socket.AF_INET
        return kernel_network.Address(interface, family, text, prefix, broadcast, interface, "global")

    found = [
        address("lo", "127.0.0.1", 8),
        address("lo", "::1", 128),
        address("eth0", "192.168.1.7", 24, "192.168.1.255"),
        address("eth0", "fd00::2", 64),
        address("eth1", "10.9.8.7", 16),
        address("eth1", "8.8.8.8", 32),
    ]
    monkeypatch.setattr(kernel_network, "addresses", lambda: found)
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0"), (3, "eth1")])
    monkeypatch.setattr(
        _interfaces, "_sysfs", lambda name, attribute: {"flags": "0x1003", "address": f"mac of {name}"}[attribute]
    )
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["8.8.8.8", "10.9.8.7", "192.168.1.7"]),
        ({"interface": "eth0"}, ["192.168.1.7"]),
        ({"interface": "eth0,eth1", "type": "private"}, ["10.9.8.7", "192.168.1.7"]),
        ({"type": "public"}, ["8.8.8.8"]),
        ({"cidr": "10.0.0.0/8"}, ["10.9.8.7"]),
        ({"include_loopback": True, "interface": ["lo"]}, ["127.0.0.1"]),
    ],
)
def test_ip_addrs(plugins, addresses, arguments, expected):
    assert plugins.call("network.ip_addrs", **arguments) == expected
    assert plugins.call("network.ipaddrs", **arguments) == expected


def test_ip_addrs6(plugins, addresses):
    assert plugins.call("network.ip_addrs6") == ["fd00::2"]
    assert plugins.call("network.ip_addrs6", cidr="fe80::/10") == []


def test_networks(plugins, addresses):
    assert plugins.call("network.subnets") == ["10.9.0.0/16", "192.168.1.0/24", "8.8.8.8/32"]
    assert plugins.call("network.subnets", "eth0") == ["192.168.1.0/24"]
    assert plugins.call("network.subnets6") == ["fd00::/64"]
    assert plugins.call("network.ip_networks", include_loopback=True, interface="lo") == ["127.0.0.0/8"]
    assert plugins.call("network.ip_networks6", include_loopback=True) == ["::1/128", "fd00::/64"]
    assert plugins.call("network.in_subnet", "192.168.0.0/16") is True
    assert plugins.call("network.in_subnet", "172.16.0.0/12") is False


def test_interfaces(plugins, addresses):
    assert plugins.call("network.interfaces")["eth0"] == {
        "up": True,
        "hwaddr": "mac of eth0",
        "inet": [{"address": "192.168.1.7", "netmask": "255.255.255.0", "broadcast": "192.168.1.255", "label": "eth0"}],
        "inet6": [{"address": "fd00::2", "prefixlen": "64", "scope": "global"}],
    }
    assert plugins.call("network.interface", "eth0")[0]["address"] == "192.168.1.7"
    assert plugins.call("network.interface_ip", "eth1") == "10.9.8.7"
    assert plugins.call("network.hw_addr", "eth0") == "mac of eth0"
    assert plugins.call("network.ifacestartswith", "10.0.0.0/8") == ["eth1"]
    sentence = 'Interface "none" not in available interfaces: "'
    for function in ("interface", "interface_ip", "hw_addr"):
        assert plugins.call(f"network.{function}", "none").startswith(sentence)


def test_the_kernel_is_asked_right(plugins):
    found = [address for address in kernel_network.addresses() if address.interface == "lo"]
    if not found:
        pytest.skip("this machine does not tell its addresses")
    loopback = found[0]
    assert ipaddress.ip_address(loopback.text).is_loopback
    assert loopback.network == ipaddress.ip_network("127.0.0.0/8")
    assert plugins.call("network.interfaces")["lo"]["up"] is True


def test_names(plugins):
    assert plugins.call("network.get_hostname") == socket.gethostname()
    assert plugins.call("network.get_fqdn") == socket.getfqdn()


def test_ping_gives_no_shell_anything(plugins):
    seen = []
    plugins.salt["cmd.run"] = lambda argv, **_: seen.append(argv) or "output"
    plugins.salt["cmd.retcode"] = lambda argv, **_: seen.append(argv) or 0
    assert plugins.call("network.ping", "host; rm x") == "output"
    assert plugins.call("network.ping", "::1", timeout=3, return_boolean=True) is True
    assert seen == [["ping", "-c", "4", "--", "hostrmx"], ["ping", "-c", "4", "-W", "3", "--", "::1"]]


def test_connect(plugins):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert plugins.call("network.connect", "127.0.0.1", port)["result"] is True
    refused = plugins.call("network.connect", "127.0.0.1", port, timeout=1)
    assert refused["result"] is False
    assert refused["comment"].startswith(f"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port {port}")
    assert plugins.call("network.connect", "")["comment"] == "Required argument, host, is missing."
    assert plugins.call("network.connect", "h")["comment"] == "Required argument, port, is missing."


def test_aliases():
    assert (network.hwaddr, network.ipaddrs6) == (network.hw_addr, network.ip_addrs6)


def test_networks_in_full(plugins, addresses):
    assert plugins.call("network.ip_networks", "eth0", verbose=True) == {
        "192.168.1.0/24": {
            "address": "192.168.1.0",
            "netmask": "255.255.255.0",
            "num_addresses": 256,
            "prefixlen": 24,
        }
    }


@pytest.fixture
def tables(tmp_path, monkeypatch):
    ipv4, ipv6 = tmp_path / "route", tmp_path / "ipv6_route"
    ipv4.write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        f"eth0\t00000000\t{number('10.0.2.2'):08X}\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        f"eth0\t{number('10.0.2.0'):08X}\t00000000\t0001\t0\t0\t0\t{number('255.255.255.0'):08X}\t0\t0\t0\n"
    )
    zero = "0" * 32
    ipv6.write_text(
        f"{'0' * 31}1 80 {zero} 00 {zero} 00000000 00000001 00000000 08000001       lo\n"
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 08000200       lo\n"
    )
    monkeypatch.setattr(_routes, "_IPV4", str(ipv4))
    monkeypatch.setattr(_routes, "_IPV6", str(ipv6))


def number(address):
    return int.from_bytes(socket.inet_aton(address), sys.byteorder)


def route(*values):
    return dict(zip(("addr_family", "destination", "gateway", "netmask", "flags", "interface"), values, strict=True))


def test_routes(plugins, tables):
    ipv4 = [
        route("inet", "0.0.0.0", "10.0.2.2", "0.0.0.0", "UG", "eth0"),
        route("inet", "10.0.2.0", "0.0.0.0", "255.255.255.0", "U", "eth0"),
    ]
    ipv6 = [route("inet6", "::1/128", "::", "", "Un", "lo"), route("inet6", "::/0", "::", "", "!n", "lo")]
    assert plugins.call("network.routes", "inet") == ipv4
    assert plugins.call("network.routes", "inet6") == ipv6
    assert plugins.call("network.routes") == [*ipv4, *ipv6]
    assert plugins.call("network.default_route") == [ipv4[0], ipv6[1]]
    with pytest.raises(CommandExecutionError, match="Invalid address family ipx"):
        plugins.call("network.default_route", "ipx")


def test_a_kernel_without_ipv6_has_no_such_routes(plugins, tables, monkeypatch):
    monkeypatch.setattr(_routes, "_IPV6", "/nowhere")
    assert plugins.call("network.routes", "inet6") == []


def test_the_route_of_an_address(plugins):
    plugins.salt["cmd.run"] = lambda argv, **_: f"{argv[-1]} via 10.0.2.2 dev eth0 src 10.0.2.15 uid 0"
    assert plugins.call("network.get_route", "8.8.8.8") == {
        "destination": "8.8.8.8",
        "gateway": "10.0.2.2",
        "interface": "eth0",
        "source": "10.0.2.15",
    }
    with pytest.raises(CommandExecutionError):
        plugins.call("network.get_route", "-h")
