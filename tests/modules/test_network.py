from __future__ import annotations

import ipaddress
import socket

import pytest
from asyncstate.modules import _interfaces
from plugin_harness import PluginHarness
from tables import beside, rows

from asyncstate.data import kernel_network

TABLES = beside(__file__)


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "network")
    return harness


@rows("function, options, value", TABLES["calls"])
def test_the_addresses_of_a_machine(plugins, monkeypatch, function, options, value):
    found = [
        kernel_network.Address(
            interface, socket.AF_INET6 if ":" in text else socket.AF_INET, text, prefix, broadcast, interface, "global"
        )
        for interface, text, prefix, broadcast in TABLES["addresses"]
    ]
    monkeypatch.setattr(kernel_network, "addresses", lambda: found)
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0"), (3, "eth1")])
    monkeypatch.setattr(
        _interfaces, "_sysfs", lambda name, attribute: {"flags": "0x1003", "address": f"mac of {name}"}[attribute]
    )
    assert plugins.call(f"network.{function}", **options) == value


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


def test_connect(plugins):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert plugins.call("network.connect", "127.0.0.1", port)["result"] is True
