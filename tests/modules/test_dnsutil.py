from __future__ import annotations

import socket
import time

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "dnsutil")
    return harness


def test_resolver(plugins, monkeypatch):
    def getaddrinfo(host, _port, family, _kind):
        if host == "gone":
            raise socket.gaierror
        return [(family, 0, 0, "", (f"{host} {family == socket.AF_INET6}", 0))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert plugins.call("dnsutil.A", "host") == ["host False"]
    assert plugins.call("dnsutil.AAAA", "host") == ["host True"]
    assert plugins.call("dnsutil.A", "gone") == "Unable to resolve gone"


def test_serial(plugins):
    assert plugins.call("dnsutil.serial") == time.strftime("%Y%m%d01")
