from __future__ import annotations

import socket
import time

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

ANSWERS = {
    ("example.org", "A"): "192.0.2.1\n",
    ("example.org", "NS"): "ns.example.org.\n",
    ("ns.example.org", "A"): "192.0.2.9\n",
    ("example.org", "MX"): "10 mail.example.org.\n",
    ("mail.example.org", "A"): "192.0.2.5\n",
    ("example.org", "TXT"): '"v=spf1 ip4:192.0.2.0/24 include:x -all"\n"other"\n',
}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "dnsutil")
    harness.salt["cmd.has_exec"] = lambda _: True
    harness.salt["cmd.run_stdout"] = lambda argv: ANSWERS.get((argv[-3], argv[-1]), "")
    return harness


@pytest.mark.parametrize(
    ("text", "expected"), [("10.0.0.1", True), ("10.0.0.1/8", True), ("::1", True), ("x", False), ("10.0.0.300", False)]
)
def test_check_ip(plugins, text, expected):
    assert plugins.call("dnsutil.check_ip", text) is expected


def test_resolver(plugins, monkeypatch):
    def getaddrinfo(host, _port, family, _kind):
        if host == "gone":
            raise socket.gaierror
        return [(family, 0, 0, "", (f"{host} {family == socket.AF_INET6}", 0))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert plugins.call("dnsutil.A", "host") == ["host False"]
    assert plugins.call("dnsutil.AAAA", "host") == ["host True"]
    assert plugins.call("dnsutil.A", "gone") == "Unable to resolve gone"


def test_dig(plugins):
    assert plugins.call("dnsutil.A", "example.org", nameserver="ns") == ["192.0.2.1"]
    assert plugins.call("dnsutil.NS", "example.org") == ["192.0.2.9"]
    assert plugins.call("dnsutil.NS", "example.org", resolve=False) == ["ns.example.org"]
    assert plugins.call("dnsutil.MX", "example.org") == [["10", "mail.example.org"]]
    assert plugins.call("dnsutil.MX", "example.org", resolve=True) == [["10", "192.0.2.5"]]
    assert plugins.call("dnsutil.SPF", "example.org") == ["192.0.2.0/24"]


def test_without_dig(plugins):
    plugins.salt["cmd.has_exec"] = lambda _: False
    with pytest.raises(CommandExecutionError, match="requires dig"):
        plugins.call("dnsutil.MX", "example.org")


def test_serial(plugins):
    assert plugins.call("dnsutil.serial") == time.strftime("%Y%m%d01")


def test_parse_hosts(plugins, tmp_path):
    text = "127.0.0.1\tlocalhost one\n\n# 10.0.0.1 remark\n::1 localhost\n127.0.0.1 two\n"
    (tmp_path / "hosts").write_text(text)
    wanted = {"127.0.0.1": ["localhost", "one", "two"], "::1": ["localhost"]}
    assert plugins.call("dnsutil.parse_hosts", str(tmp_path / "hosts")) == wanted
    assert plugins.call("dnsutil.parse_hosts", hosts=text) == wanted
    assert plugins.call("dnsutil.parse_hosts", "/nowhere") == "Error: hosts data was not found"
