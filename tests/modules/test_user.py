from __future__ import annotations

import grp
import os
import pwd

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "user")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(
        "app:x:1001:1002:The App,room,work,home,rest:/srv/app:/bin/sh\nbroken line\nbare:x:1:1::/:/bin/false\n"
    )
    return harness


def test_info(plugins):
    entry = pwd.getpwuid(0)
    info = plugins.call("user.info", entry.pw_name)
    assert (info["uid"], info["gid"], info["home"], info["shell"]) == (0, entry.pw_gid, entry.pw_dir, entry.pw_shell)
    assert grp.getgrgid(entry.pw_gid).gr_name in info["groups"]
    assert plugins.call("user.info", "no_such_user") == {}


def test_info_in_a_tree(plugins, tmp_path):
    assert plugins.call("user.info", "app", root=str(tmp_path)) == {
        "name": "app",
        "passwd": "x",
        "uid": 1001,
        "gid": 1002,
        "home": "/srv/app",
        "shell": "/bin/sh",
        "fullname": "The App",
        "roomnumber": "room",
        "workphone": "work",
        "homephone": "home",
        "other": "rest",
        "groups": [],
    }
    assert plugins.call("user.info", "gone", root=str(tmp_path)) == {}
    assert plugins.call("user.list_users", root=str(tmp_path)) == ["app", "bare"]
    assert [entry["name"] for entry in plugins.call("user.getent", root=str(tmp_path))] == ["app", "bare"]


def test_unreadable_tree(plugins, tmp_path):
    with pytest.raises(CommandExecutionError, match="Cannot read"):
        plugins.call("user.list_users", root=str(tmp_path / "none"))


def test_lists(plugins):
    name = pwd.getpwuid(0).pw_name
    assert name in plugins.call("user.list_users")
    assert name in [entry["name"] for entry in plugins.call("user.getent")]
    assert plugins.call("user.list_groups", "no_such_user") == []
    assert plugins.call("user.primary_group", name) == grp.getgrgid(pwd.getpwuid(0).pw_gid).gr_name
    assert plugins.call("user.current") == pwd.getpwuid(os.geteuid()).pw_name
    with pytest.raises(CommandExecutionError):
        plugins.call("user.primary_group", "no_such_user")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"uid": 1500, "unique": False}, ["-u", "1500", "-o", "-m"]),
        ({"uid": 0, "unique": False}, ["-u", "0", "-o", "-m"]),
        ({"uid": 1500}, ["-u", "1500", "-m"]),
        ({"unique": False}, ["-m"]),
        ({"uid": "", "unique": False, "createhome": False}, ["-M"]),
    ],
)
def test_a_number_may_be_shared_only_if_one_is_given(plugins, arguments, options):
    commands = []
    plugins.salt["cmd.retcode"] = lambda command, **_: commands.append(command) or 0
    plugins.salt["cmd.run_all"] = lambda command, **_: commands.append(command) or {"retcode": 0, "stderr": ""}
    assert plugins.call("user.add", "bob", **arguments) is True
    assert commands == [["useradd", *options, "--", "bob"]]
