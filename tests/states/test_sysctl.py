"""The sysctl state on the real execution module, with a folder in place of /proc/sys."""

from __future__ import annotations

import os

import pytest
from asyncstate.modules import linux_sysctl
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

NAME = "net.ipv4.ip_forward"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    folder = tmp_path / "proc"
    (folder / "net/ipv4/conf/eth0.1").mkdir(parents=True)
    (folder / "net/ipv4/ip_forward").write_text("0\n")
    (folder / "net/ipv4/tcp_rmem").write_text("4096\t131072\t6291456\n")
    (folder / "net/ipv4/conf/eth0.1/x").write_text("5\n")
    monkeypatch.setattr(linux_sysctl, "_PROC", str(folder))
    return folder


@pytest.fixture
def config(tmp_path):
    return tmp_path / "sysctl.d/99.conf"


@pytest.fixture
def plugins(tmp_path, kernel):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "linux_sysctl")
    harness.load("states", "sysctl")
    return harness


def test_a_file_that_cannot_be_read(plugins, tmp_path):
    for test, words in ((True, "might be changed, we failed to check"), (False, "Could not read from file")):
        row = plugins.state("sysctl.present", name=NAME, value=1, config=str(tmp_path), test=test)
        assert words in row["comment"]
        assert row["result"] is (None if test else False)


def test_other_functions(plugins, kernel, config):
    assert plugins.call("sysctl.get", "net/ipv4/conf/eth0.1/x") == "5"
    assert plugins.call("sysctl.get", "net.ipv4.conf.eth0/1.x") == "5"
    assert plugins.call("sysctl.show")["net.ipv4.conf.eth0/1.x"] == "5"
    assert plugins.call("sysctl.show", str(config)) == {}
    assert plugins.call("sysctl.assign", NAME, 1) == {NAME: "1"}
    assert plugins.call("sysctl.default_config").startswith("/etc/sysctl")
    with pytest.raises(CommandExecutionError, match="does not exist"):
        plugins.call("sysctl.assign", "net.nothing", 1)
    assert os.listdir(kernel) == ["net"]
