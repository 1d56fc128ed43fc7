from __future__ import annotations

import os
import subprocess
import time

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "status")
    return harness


def test_time(plugins):
    assert plugins.call("status.time", "%Y") == time.strftime("%Y")
    assert time.strftime("%A") in plugins.call("status.time")


def test_uptime(plugins):
    up = plugins.call("status.uptime")
    assert up["seconds"] > 0
    assert up["days"] == up["seconds"] // 86400
    assert abs(up["since_t"] + up["seconds"] - time.time()) < 60
    assert up["since_iso"].count(":") == 2


def test_proc(plugins):
    assert plugins.call("status.meminfo")["MemTotal"]["unit"] == "kB"
    assert plugins.call("status.cpuinfo")["processor"].isdigit()
    assert "Linux" in plugins.call("status.version")
    assert plugins.call("status.nproc") == len(os.sched_getaffinity(0))
    assert plugins.call("status.loadavg").keys() == {"1-min", "5-min", "15-min"}


def test_diskusage(plugins):
    assert plugins.call("status.diskusage", "/")["/"]["total"] > 0
    assert plugins.call("status.diskusage", "no such type") == {}
    assert "/" in plugins.call("status.diskusage")


def test_pid(plugins):
    with subprocess.Popen(["sleep", "31.4159"]) as process:
        try:
            found = ""
            deadline = time.monotonic() + 40
            while not found and time.monotonic() < deadline:  # the kernel shows the new arguments a moment after exec
                found = plugins.call("status.pid", r"sleep 31\.4159")
            assert found == str(process.pid)
        finally:
            process.kill()
