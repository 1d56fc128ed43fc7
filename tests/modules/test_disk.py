from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

DF = """Filesystem     1024-blocks    Used Available Capacity Mounted on
/dev/sda1         20509264 7213928  12228268      38% /
map auto home          100      50        50      50% /my home
"""
DF_INODES = """Filesystem      Inodes  IUsed   IFree IUse% Mounted on
/dev/sda1      1310720 214351 1096369   17% /
"""


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "disk")
    harness.asked = []
    harness.answers = {"df -P": DF, "df -iP": DF_INODES}

    def run_all(argv, **_):
        harness.asked.append(argv)
        out = harness.answers.get(" ".join(argv[:2]), harness.answers.get(argv[0]))
        return {
            "retcode": 2 if out is None else 0,
            "stdout": out or "",
            "stderr": "no such thing" if out is None else "",
        }

    harness.salt["cmd.run_all"] = run_all
    return harness


def test_usage(plugins):
    assert plugins.call("disk.usage") == {
        "/": {
            "filesystem": "/dev/sda1",
            "1K-blocks": "20509264",
            "used": "7213928",
            "available": "12228268",
            "capacity": "38%",
        },
        "/my home": {
            "filesystem": "map auto home",
            "1K-blocks": "100",
            "used": "50",
            "available": "50",
            "capacity": "50%",
        },
    }


def test_inodeusage_and_percent(plugins):
    assert plugins.call("disk.inodeusage")["/"] == {
        "filesystem": "/dev/sda1",
        "inodes": "1310720",
        "used": "214351",
        "free": "1096369",
        "use": "17%",
    }
    assert plugins.call("disk.percent") == {"/": "38%", "/my home": "50%"}
    assert plugins.call("disk.percent", "/") == "38%"
    assert plugins.call("disk.percent", "/nowhere") == {}


def test_options_of_df_are_letters(plugins):
    plugins.call("disk.usage", "l")
    assert plugins.asked[-1] == ["df", "-P", "-l"]
    with pytest.raises(CommandExecutionError, match="letters are expected"):
        plugins.call("disk.usage", "l --output=x")


def test_blkid(plugins):
    plugins.answers["blkid"] = '/dev/sda1: LABEL="a \\"b\\"" UUID="1-2" TYPE="ext4"\n'
    tags = {"LABEL": 'a \\"b\\"', "UUID": "1-2", "TYPE": "ext4"}
    assert plugins.call("disk.blkid") == {"/dev/sda1": tags}
    assert plugins.call("disk.blkid", "/dev/sda1", token="TYPE=ext4") == {"/dev/sda1": tags}
    assert plugins.asked[-1] == ["blkid", "-t", "TYPE=ext4", "/dev/sda1"]


def test_a_machine_without_block_devices(plugins):
    assert plugins.call("disk.blkid") == {}
    assert plugins.call("disk.fstype", "/dev/sdz") == ""
    assert plugins.call("disk.get_fstype_from_path", "/nowhere") == ""
    with pytest.raises(CommandExecutionError, match="no such thing"):
        plugins.call("disk.dump", "/dev/sdz")


def test_what_is_on_a_device(plugins):
    plugins.answers |= {"lsblk": "ext4\n", "df": "Type\next4\n", "blockdev": "0\n512\n"}
    assert plugins.call("disk.fstype", "/dev/sda1") == "ext4"
    assert plugins.call("disk.get_fstype_from_path", "/srv") == "ext4"
    assert plugins.call("disk.dump", "/dev/sda1", ["getro", "getss"]) == {"getro": "0", "getss": "512"}
    assert plugins.asked[-1] == ["blockdev", "--getro", "--getss", "/dev/sda1"]
