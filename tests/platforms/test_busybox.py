"""The providers for BusyBox with its real applets, in a root of their own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from asyncstate.modules import busybox_cron, busybox_sysctl
from plugin_harness import PluginHarness

BUSYBOX = Path(__file__).parents[2] / "build/platform-tools/bin/busybox"

pytestmark = [
    pytest.mark.platform,
    pytest.mark.skipif(os.geteuid() != 0, reason="the applets run in a chroot, which root alone may enter"),
]


@pytest.fixture
def busybox(tmp_path):
    """A harness whose commands are applets in a root of their own."""
    assert BUSYBOX.exists(), ".ci/platform-tools unpacks bin/busybox"
    root = tmp_path / "root"
    for folder in ("bin", "etc", "tmp", "proc", "var/spool/cron/crontabs"):
        (root / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    made = PluginHarness(tmp_path)
    made.root = root

    def run_all(command, *, stdin=None, **_):
        done = subprocess.run(
            ["chroot", str(root), "/bin/busybox", *command],
            input=stdin or "", capture_output=True, text=True, check=False,
        )  # fmt: skip
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout.rstrip(), "stderr": done.stderr.rstrip()}

    made.salt["cmd.run_all"] = run_all
    made.salt["cmd.run_stdout"] = lambda command, **options: run_all(command, **options)["stdout"] + "\n"
    return made


def test_jobs_of_a_user(busybox):
    busybox.load("modules", "busybox_cron")
    busybox.load("states", "cron")
    state, call = busybox.state, busybox.call
    assert call("cron.list_tab", "root")["crons"] == []
    dry = state("cron.present", test=True, name="/bin/sun", user="root", minute="5")
    assert dry["result"] is None
    row = state("cron.present", name="/bin/sun", user="root", minute="5", identifier="sun")
    assert row["changes"] == {"root": "/bin/sun"}, row
    assert "5 * * * * /bin/sun" in (busybox.root / "var/spool/cron/crontabs/root").read_text()
    assert state("cron.present", name="/bin/sun", user="root", minute="5", identifier="sun")["changes"] == {}
    assert call("cron.set_special", "root", "@reboot", "/bin/moon") == "new"
    assert call("cron.set_env", "root", "MAILTO", "root@example.org") == "new"
    assert call("cron.set_env", "root", "LANG", "C").startswith("BusyBox's crond knows no variable LANG")
    assert state("cron.absent", name="/bin/sun", user="root", identifier="sun")["changes"] == {"root": "/bin/sun"}
    assert state("cron.absent", name="/bin/sun", user="root", identifier="sun")["changes"] == {}
    assert busybox_cron.__virtualname__ == "cron"


def test_settings_of_the_kernel(busybox, tmp_path, monkeypatch):
    busybox.load("modules", "busybox_sysctl")
    busybox.load("states", "sysctl")
    folder = busybox.root / "proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("60\n")
    config = str(tmp_path / "sysctl.conf")
    monkeypatch.setattr(busybox_sysctl, "default_config", lambda: config)
    state, call = busybox.state, busybox.call
    assert call("sysctl.get", "vm.swappiness") == "60"
    assert call("sysctl.get", "vm.nosuch") == ""
    assert state("sysctl.present", test=True, name="vm.swappiness", value=10)["result"] is None
    row = state("sysctl.present", name="vm.swappiness", value=10)
    assert (row["result"], row["changes"]) == (True, {"vm.swappiness": 10}), row
    assert (folder / "swappiness").read_text().strip() == "10"
    assert "vm.swappiness = 10" in Path(config).read_text()
    assert state("sysctl.present", name="vm.swappiness", value=10)["changes"] == {}
    assert call("sysctl.show")["vm.swappiness"] == "10"
    shutil.rmtree(busybox.root / "proc/sys")  # without a kernel, anything else would make a file of that name
    row = state("sysctl.present", name="nosuch.value", value=1)
    assert row["result"] is False, row
    assert "nosuch.value" not in Path(config).read_text()
