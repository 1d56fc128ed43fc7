"""The kmod states on the real execution module, with a folder in place of the kernel and two small programs."""

from __future__ import annotations

import os

import pytest
from asyncstate.modules import kmod as module
from plugin_harness import PluginHarness
from tables import beside

from asyncstate.errors import CommandExecutionError

TABLES = beside(__file__)

NEEDS = {"br_netfilter": ["bridge"]}


class FakeKernel:
    """Loaded modules in a file like /proc/modules; `run_all` stands for modprobe and rmmod."""

    def __init__(self, folder):
        self.path = folder / "proc_modules"
        self.path.write_text("loop 40960 0 - Live 0x0\nnfs 1 2 nfsd,lockd, Live 0x0\n")
        self.calls = []

    def run_all(self, command, **_):
        self.calls.append(command)
        program, mod, *_ = command
        lines = self.path.read_text().splitlines()
        loaded = [line.split()[0] for line in lines]
        if mod == "stubborn" or (program == "rmmod" and mod not in loaded):
            return {"retcode": 1, "stdout": "", "stderr": f"{program}: no {mod}"}
        if program == "modprobe":
            lines += [f"{each} 1 0 - Live 0x0" for each in [*NEEDS.get(mod, []), mod] if each not in loaded]
        else:
            lines = [line for line in lines if line.split()[0] != mod]
        self.path.write_text("".join(f"{line}\n" for line in lines))
        return {"retcode": 0, "stdout": "", "stderr": ""}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    tree = tmp_path / "lib" / os.uname().release / "kernel"
    tree.mkdir(parents=True)
    for name in ("br-netfilter.ko.xz", "bridge.ko", "stubborn.ko", "nfs.ko"):
        (tree / name).touch()
    (tree.parent / "modules.builtin").write_text("kernel/fs/ext4.ko\n")
    fake = FakeKernel(tmp_path)
    monkeypatch.setattr(module, "_LOADED", str(fake.path))
    monkeypatch.setattr(module, "_LIBRARY", str(tmp_path / "lib"))
    monkeypatch.setattr(module, "_LIST", str(tmp_path / "modules"))
    monkeypatch.setattr(module, "_SYSTEMD_LIST", str(tmp_path / "modules-load.d/salt_managed.conf"))
    for program in ("modprobe", "rmmod"):
        (tmp_path / program).write_text("")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return fake


@pytest.fixture
def plugins(tmp_path, kernel):
    harness = PluginHarness(tmp_path)
    harness.salt["cmd.run_all"] = kernel.run_all
    harness.load("modules", "kmod")
    harness.load("states", "kmod")
    return harness


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", TABLES["three runs"])
def test_three_runs(plugins, case):
    fun, arguments, foretold, said, changes, later = case
    dry, real, again = plugins.three_runs(f"kmod.{fun}", **arguments)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, foretold, {})
    assert (real["result"], real["comment"], real["changes"]) == (True, said, changes)
    assert (again["result"], again["comment"], again["changes"]) == (True, later, {})


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, "bridge\n"), ("# bridge\nloop\n", " bridge\nloop\n"), ("# bridge x\nloop", "# bridge x\nloop\nbridge\n")],
)
@pytest.mark.parametrize("systemd", [False, True])
def test_persist(plugins, tmp_path, before, after, systemd):
    path = tmp_path / ("modules-load.d/salt_managed.conf" if systemd else "modules")
    if systemd:
        plugins.grains["systemd"] = {"version": "252"}
    if before is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(before)
    dry, real, again = plugins.three_runs("kmod.present", name="bridge", persist=True)
    assert (dry["result"], real["changes"], again["changes"]) == (None, {"bridge": "loaded"}, {})
    assert path.read_text() == after


@pytest.mark.parametrize(("comment", "after"), [(True, "a\n#bridge stp=1\nbridge_x\n"), (False, "a\nbridge_x\n")])
def test_persistent_removal(plugins, tmp_path, kernel, comment, after):
    (tmp_path / "modules").write_text("a\nbridge stp=1\nbridge_x\n")
    kernel.run_all(["modprobe", "bridge"])
    dry, real, again = plugins.three_runs("kmod.absent", name="bridge", persist=True, comment=comment)
    assert (dry["result"], real["changes"], again["changes"]) == (None, {"bridge": "removed"}, {})
    assert (tmp_path / "modules").read_text() == after


def test_loaded_but_not_persistent_is_a_change(plugins, tmp_path):
    row = plugins.state("kmod.present", name="nfs", persist=True)
    assert (row["changes"], row["comment"]) == ({"nfs": "loaded"}, "Loaded kernel module nfs")
    assert (tmp_path / "modules").read_text() == "nfs\n"


def test_failures_do_not_stop_the_others(plugins):
    row = plugins.state("kmod.present", name="x", mods=["nope", "stubborn", "bridge", "never"])
    assert (row["result"], row["changes"]) == (False, {"bridge": "loaded"})
    assert row["comment"] == (
        "Kernel modules nope, never are unavailable\nLoaded kernel module bridge\n"
        "Failed to load kernel module stubborn: Error loading module stubborn: modprobe: no stubborn"
    )
    row = plugins.state("kmod.present", name="ext4")
    assert (row["result"], row["comment"]) == (True, "Loaded kernel module ext4")


def test_what_has_no_effect_is_a_failure(plugins):
    plugins.salt["kmod.load"] = plugins.salt["kmod.remove"] = lambda *_: []
    row = plugins.state("kmod.present", name="bridge")
    assert (row["result"], row["comment"]) == (False, "Failed to load kernel module bridge")
    row = plugins.state("kmod.absent", name="x", mods=["loop", "nfs"])
    assert (row["result"], row["comment"]) == (False, "Failed to remove kernel modules loop, nfs")


def test_execution_functions(plugins, tmp_path):
    assert plugins.call("kmod.lsmod")[1] == {"size": "1", "module": "nfs", "depcount": "2", "deps": ["nfsd", "lockd"]}
    assert plugins.call("kmod.is_loaded", "loop") is True
    assert plugins.call("kmod.check_available", "br_netfilter") is True
    (tmp_path / "modprobe").unlink()
    with pytest.raises(CommandExecutionError, match="'modprobe' cannot be found"):
        plugins.call("kmod.load", "bridge")
    (tmp_path / "modules").mkdir()
    with pytest.raises(CommandExecutionError, match="Could not read"):
        plugins.call("kmod.mod_list", only_persist=True)
