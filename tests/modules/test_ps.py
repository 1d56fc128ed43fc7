from __future__ import annotations

import os

import pytest
from asyncstate.modules import ps
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

MEMINFO = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 250 kB\nSwapTotal: 200 kB\nSwapFree: 150 kB\nHugePages_Total: 0\n"


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    proc = tmp_path / "proc"
    for pid, name, cmdline, uid in ((1, "init", "/sbin/init\0", 0), (20, "nginx", "nginx\0-g\0daemon off;\0", 33)):
        (proc / str(pid)).mkdir(parents=True)
        (proc / str(pid) / "cmdline").write_text(cmdline)
        (proc / str(pid) / "status").write_text(
            f"Name:\t{name}\nState:\tS (sleeping)\nPPid:\t1\nUid:\t{uid}\t0\t0\t0\n"
        )
    (proc / "30").mkdir()
    (proc / "meminfo").write_text(MEMINFO)
    (proc / "stat").write_text("cpu 1 2\nbtime 86400\n")
    monkeypatch.setattr(ps, "_PROC", str(proc))
    harness = PluginHarness(tmp_path)
    harness.load("modules", "ps")
    users = {"root": 0, "www": 33}
    harness.salt["file.user_to_uid"] = lambda user: users.get(user, "")
    harness.salt["file.uid_to_user"] = {uid: user for user, uid in users.items()}.get
    return harness


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "nginx"}, [20]),
        ({"pattern": "ngin."}, None),
        ({"pattern": "gin.$", "pattern_is_regex": True}, [20]),
        ({"pattern": "daemon off"}, None),
        ({"pattern": "daemon off", "full": True}, [20]),
        ({"pattern": "n"}, [1, 20]),
        ({"pattern": "n", "user": "root"}, [1]),
    ],
)
def test_pgrep(plugins, arguments, found):
    assert plugins.call("ps.pgrep", **arguments) == found


def test_pgrep_for_a_user_who_is_not(plugins):
    with pytest.raises(CommandExecutionError, match="no user 'nobody'"):
        plugins.call("ps.pgrep", "n", user="nobody")


def test_processes(plugins):
    assert plugins.call("ps.get_pid_list") == [1, 20, 30]
    whole = plugins.call("ps.proc_info", 20)
    assert whole == {
        "pid": 20,
        "name": "nginx",
        "cmdline": ["nginx", "-g", "daemon off;"],
        "username": "www",
        "ppid": 1,
        "status": "sleeping",
    }
    assert plugins.call("ps.proc_info", 20, attrs=["name"]) == {"name": "nginx"}
    with pytest.raises(CommandExecutionError, match="no process 30"):
        plugins.call("ps.proc_info", 30)


def test_psaux(plugins):
    lines = ["USER PID", "www 20 nginx: worker", f"root {os.getpid()} a search for nginx", "root 1 init"]
    plugins.salt["cmd.run"] = lambda argv, **_: "\n".join(lines)
    assert plugins.call("ps.psaux", "ngin.") == ["ngin.", [lines[1]], "1 occurrence(s)."]
    assert plugins.call("ps.psaux", "nothing") == ["nothing", [], "0 occurrence(s)."]


def test_the_machine(plugins):
    assert plugins.call("ps.num_cpus") >= 1
    assert plugins.call("ps.total_physical_memory") == 1024000
    assert plugins.call("ps.virtual_memory") == {
        "total": 1024000,
        "available": 256000,
        "free": 102400,
        "used": 768000,
        "percent": 75.0,
    }
    assert plugins.call("ps.swap_memory") == {"total": 204800, "free": 153600, "used": 51200, "percent": 25.0}
    assert plugins.call("ps.boot_time") == 86400
    assert plugins.call("ps.boot_time", time_format="%Y") == "1970"
