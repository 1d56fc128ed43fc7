"""The sysctl state on the real execution module, with a folder in place of /proc/sys."""

from __future__ import annotations

import os

import pytest
from asyncstate.modules import linux_sysctl
from asyncstate.states import sysctl
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


IN_FORCE_ONLY = (
    "Sysctl value is currently set on the running system but not in a config file. Sysctl option {n} set to be changed"
    " to {v} in config file."
)


@pytest.mark.parametrize(
    "case",
    [
        (None, (NAME, 1), "Sysctl option {n} set to be changed to {v}",
         "#\n# Kernel sysctl configuration\n#\nnet.ipv4.ip_forward = 1\n"),
        ("# x = 1\na = b\n", (NAME, 1), "Sysctl option {n} set to be changed to {v}",
         "# x = 1\na = b\nnet.ipv4.ip_forward = 1\n"),
        (f"{NAME}=0\nlast = 1\n", (NAME, "1"), "Sysctl option {n} would be changed to {v}", f"{NAME} = 1\nlast = 1\n"),
        ("", (NAME, 0), IN_FORCE_ONLY, f"{NAME} = 0\n"),
        (f"{NAME} = 1\n", (NAME, 0), "Sysctl option {n} would be changed to {v}", f"{NAME} = 0\n"),
        (f"{NAME} = 1\n", (NAME, 1), "Sysctl option {n} would be changed to {v}", f"{NAME} = 1\n"),
        ("", ("net.ipv4.tcp_rmem", "1 2 3"), "Sysctl option {n} set to be changed to {v}", "net.ipv4.tcp_rmem = 1 2 3\n"),
    ],
)  # fmt: skip
def test_a_value_is_foretold_set_and_not_set_again(plugins, config, case):
    before, (name, value), foretold, after = case
    if before is not None:
        config.parent.mkdir()
        config.write_text(before)
    dry, real, again = plugins.three_runs("sysctl.present", name=name, value=value, config=str(config))
    assert (dry["result"], dry["comment"]) == (None, foretold.format(n=name, v=value))
    assert (real["result"], real["comment"]) == (True, f"Updated sysctl value {name} = {value}")
    assert real["changes"] == {name: value}
    assert config.read_text() == after
    assert plugins.call("sysctl.get", name).split() == str(value).split()
    for row in (again, plugins.state("sysctl.present", name=name, value=value, config=str(config), test=True)):
        comment = f"Sysctl value {name} = {value} is already set"
        assert (row["result"], row["comment"], row["changes"]) == (True, comment, {})


def test_blanks_do_not_matter(plugins, config):
    config.parent.mkdir()
    config.write_text("net.ipv4.tcp_rmem = 4096  131072 6291456\n")
    row = plugins.state("sysctl.present", name="net.ipv4.tcp_rmem", value="4096 131072\t6291456", config=str(config))
    assert row["changes"] == {}


@pytest.mark.parametrize("name", ["net.nothing", "net.//.//.//.etc", ".", ""])
def test_what_the_kernel_does_not_know_stays_out_of_the_file(plugins, config, name):
    row = plugins.state("sysctl.present", name=name, value=1, config=str(config))
    assert row["result"] is False
    assert row["comment"].startswith(f"Failed to set {name} to 1: ")
    assert not config.exists()
    dry = plugins.state("sysctl.present", name=name, value=1, config=str(config), test=True)
    assert dry["comment"] == f"Sysctl option {name} would be changed to 1"


def test_configured_but_unknown_to_the_kernel(plugins, config):
    config.parent.mkdir()
    config.write_text("net.gone = 1\n")
    dry = plugins.state("sysctl.present", name="net.gone", value=1, config=str(config), test=True)
    assert "is not present in the running config. The value net.gone is set to be changed to 1" in dry["comment"]


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


def test_footprint():
    assert sysctl.mod_footprint({"name": "a.b", "config": "/etc/sysctl.d/x.conf"}) == {
        "reads": [],
        "writes": ["sysctl:a.b", "path:/etc/sysctl.d/x.conf#a.b"],
        "makes": ["path:/etc/sysctl.d"],
    }
    for name in ("a.b", "a/b"):
        assert sysctl.mod_footprint({"name": name})["writes"] == [
            "sysctl:a.b",
            "path:/etc/sysctl.conf#a.b",
            "path:/etc/sysctl.d/99-salt.conf#a.b",
        ]
    assert "sysctl:net.ipv4.conf.*.x/y" in sysctl.mod_footprint({"name": "net/ipv4/conf/eth0.1/x.y"})["writes"]


def test_no_second_setting_comes_with_a_value(plugins, tmp_path):
    config = tmp_path / "new.conf"
    value = "1\nkernel.core_pattern = |/tmp/x"
    row = plugins.state("sysctl.present", name="vm.swappiness", value=value, config=str(config))
    assert row["result"] is False
    assert "is one line" in row["comment"]
    assert not config.exists()
