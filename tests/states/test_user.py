from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import traceback
from pathlib import Path

import pytest
from fake_accounts import FakeAccounts
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

RIGHT = "User ada is present and up to date"


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("states", "user")
    return harness


@pytest.fixture
def accounts(plugins, tmp_path):
    accounts = FakeAccounts(plugins)
    for name, gid in (("wheel", 10), ("dialout", 20), ("twin", 10)):
        accounts.group__add(name, gid)
    accounts.user__add("ada", uid=500, home=str(tmp_path / "ada"), shell="/bin/sh", fullname="Ada", groups=["wheel"])
    (tmp_path / "ada").mkdir()
    accounts.calls.clear()
    return accounts


def test_a_lost_home_comes_back(plugins, accounts, tmp_path):
    (tmp_path / "ada").rmdir()
    row = plugins.state("user.present", name="ada", test=True)
    assert row["comment"].endswith(f"homeDoesNotExist: {tmp_path / 'ada'}\n")
    plugins.state("user.present", name="ada")
    assert (tmp_path / "ada").is_dir()
    assert plugins.state("user.present", name="ada", createhome=False)["comment"] == RIGHT


def test_a_removal_takes_with_it_what_it_is_told_to(plugins, accounts):
    plugins.state("user.absent", name="ada", purge=True, force=True)
    assert accounts.calls == [("user.delete", "ada", True, True)]


def test_a_failure_half_way_reports_what_was_done(plugins, accounts):
    accounts.raising["user.chgroups"] = CommandExecutionError("Command 'usermod' cannot be found")
    row = plugins.state("user.present", name="ada", shell="/bin/zsh", groups=[])
    assert row["result"] is False
    assert row["changes"] == {"shell": "/bin/zsh"}
    assert row["comment"] == "Command 'usermod' cannot be found"


NAME = "asx-test"


def in_a_machine_of_its_own(folder, call):
    """Call a function in a process to which a copy of /etc, in ``folder``, is /etc."""
    child = os.fork()
    if not child:
        code = 1
        try:
            assert ctypes.CDLL(None).unshare(0x00020000) == 0  # CLONE_NEWNS
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            subprocess.run(["cp", "-a", "/etc", folder], check=True)
            subprocess.run(["mount", "--bind", f"{folder}/etc", "/etc"], check=True)
            call()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent tells it
            (folder / "failed").write_text(traceback.format_exc())
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, (folder / "failed").read_text()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("useradd"), reason="needs root and the shadow tools")
def test_with_the_real_tools(plugins, tmp_path):
    before = Path("/etc/passwd").read_bytes()
    in_a_machine_of_its_own(tmp_path, lambda: accounts_come_and_go(plugins, tmp_path))
    assert Path("/etc/passwd").read_bytes() == before


def accounts_come_and_go(plugins, tmp_path):
    for module in ("user", "group", "shadow", "file", "cmd"):
        plugins.load("modules", module)
    plugins.load("states", "group")
    group = f"{NAME}-g"
    home = str(tmp_path / "home")
    assert plugins.state("group.present", name=group)["result"] is True
    wanted = {"name": NAME, "home": home, "groups": [group], "shell": "/bin/sh", "maxdays": 90, "usergroup": True}
    row = plugins.state("user.present", **wanted, password="clear", hash_password=True, fullname="A B")
    assert row["result"] is True, row
    assert row["changes"]["groups"] == sorted([NAME, group])
    assert os.path.isdir(home)
    assert plugins.state("user.present", **wanted, password="clear", hash_password=True)["changes"] == {}
    row = plugins.state("user.present", **wanted, fullname="C D", roomnumber="7", mindays=2, expire=30000)
    assert row["changes"] == {"fullname": "C D", "roomnumber": "7", "min": 2, "expire": 30000}
    row = plugins.state("user.present", name=NAME, groups=[], home=home)
    assert row["changes"] == {"groups": [NAME]}
    assert plugins.state("group.present", name=group, members=[NAME])["result"] is True
    assert plugins.call("group.info", group)["members"] == [NAME]
    row = plugins.state("user.absent", name=NAME, purge=True)
    assert row["changes"] == {NAME: "removed", f"{NAME} group": "removed"}
    assert not os.path.exists(home)
    assert plugins.state("group.absent", name=group)["changes"] == {group: ""}
