from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import traceback
from pathlib import Path

import pytest
from asyncstate.states import user
from fake_accounts import FakeAccounts
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

RIGHT = "User ada is present and up to date"
REDACTED = "XXX-REDACTED-XXX"


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


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        ({"uid": 501, "allow_uid_change": True}, {"uid": 501}),
        ({"gid": "dialout", "allow_gid_change": True}, {"gid": 20, "groups": ["dialout", "twin", "wheel"]}),
        ({"shell": "/bin/zsh"}, {"shell": "/bin/zsh"}),
        ({"fullname": "Ada L."}, {"fullname": "Ada L."}),
        ({"roomnumber": 12, "workphone": "1", "homephone": "2", "other": "x"},
         {"roomnumber": "12", "workphone": "1", "homephone": "2", "other": "x"}),
        ({"groups": ["dialout"]}, {"groups": ["ada", "dialout"]}),
        ({"groups": "dialout,wheel"}, {"groups": ["ada", "dialout", "wheel"]}),
        ({"groups": ["dialout"], "remove_groups": False}, {"groups": ["ada", "dialout", "wheel"]}),
        ({"optional_groups": ["dialout", "nope"]}, {"groups": ["ada", "dialout"]}),
        ({"groups": []}, {"groups": ["ada"]}),
        ({"password": "$6$a$b"}, {"passwd": REDACTED, "lstchg": 20000}),
        ({"empty_password": True}, {"passwd": REDACTED}),
        ({"date": 3, "mindays": 1, "maxdays": 90, "inactdays": 5, "warndays": 3, "expire": 30000},
         {"lstchg": 3, "min": 1, "max": 90, "inact": 5, "warn": 3, "expire": 30000}),
    ],
)  # fmt: skip
def test_a_change_is_foretold_made_and_not_made_again(plugins, accounts, arguments, changes):
    dry, real, again = plugins.three_runs("user.present", name="ada", **arguments)
    assert dry["result"] is None
    assert dry["changes"] == {}
    assert dry["comment"].startswith("The following user attributes are set to be changed:\n")
    assert (real["result"], real["comment"]) == (True, "Updated user ada")
    if "gid" not in changes:
        assert real["changes"] == changes
    else:
        assert real["changes"]["gid"] == 20
    assert (again["result"], again["comment"], again["changes"]) == (True, RIGHT, {})


def test_a_dry_run_tells_what_would_change_but_no_hash(plugins, accounts):
    row = plugins.state(
        "user.present", name="ada", shell="/bin/zsh", password="$6$secret$x", groups=["none"], test=True
    )
    assert row["comment"] == (
        "The following user attributes are set to be changed:\n"
        f"groups: []\nshell: /bin/zsh\npasswd: {REDACTED}\ngroups (pending creation): none\n"
    )
    assert accounts.calls == []


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"uid": 500, "shell": "/bin/sh", "fullname": "Ada"},
        {"uid": "500"},
        {"groups": ["wheel"]},
        {"groups": ["twin"]},
        {"groups": ["wheel", "ada"]},
        {"groups": ["wheel"], "gid": "ada"},
        {"password": "$6$a$b", "enforce_password": False, "_passwd": "$6$other$x"},
        {"usergroup": True},
        {"remove_groups": True},
        {"password_lock": True},
        {"createhome": False, "home": None},
        {"mindays": 0, "maxdays": 99999},
        {"win_homedrive": "U:", "loginclass": "staff"},
    ],
)
def test_already_right(plugins, accounts, arguments):
    accounts.shadow["ada"]["passwd"] = arguments.pop("_passwd", "!")
    for test in (True, False):
        row = plugins.state("user.present", name="ada", test=test, **arguments)
        assert (row["result"], row["comment"], row["changes"]) == (True, RIGHT, {})
    assert accounts.calls == []


def test_home_is_changed_and_made(plugins, accounts, tmp_path):
    new = str(tmp_path / "elsewhere")
    _, real, again = plugins.three_runs("user.present", name="ada", home=new, persist_home=True)
    assert real["changes"] == {"home": new}
    assert os.path.isdir(new)
    assert again["comment"] == RIGHT


def test_a_lost_home_comes_back(plugins, accounts, tmp_path):
    (tmp_path / "ada").rmdir()
    row = plugins.state("user.present", name="ada", test=True)
    assert row["comment"].endswith(f"homeDoesNotExist: {tmp_path / 'ada'}\n")
    plugins.state("user.present", name="ada")
    assert (tmp_path / "ada").is_dir()
    assert plugins.state("user.present", name="ada", createhome=False)["comment"] == RIGHT


@pytest.mark.parametrize("key", ["fullname", "roomnumber", "workphone", "homephone"])
def test_a_comma_is_refused(plugins, accounts, key):
    row = plugins.state("user.present", name="ada", **{key: "a,b"})
    assert (row["result"], row["comment"]) == (False, "Unsupported char ',' in a,b")


def test_numbers_do_not_change_unasked(plugins, accounts):
    row = plugins.state("user.present", name="ada", uid=501, gid=20)
    assert row["result"] is False
    assert "- Changing uid (500 -> 501) not permitted, set allow_uid_change to True" in row["comment"]
    assert "- Changing gid (" in row["comment"]
    assert accounts.calls == []


def test_missing_groups_fail(plugins, accounts):
    row = plugins.state("user.present", name="ada", groups=["wheel", "none", "nil"])
    assert (row["result"], row["comment"]) == (False, "The following group(s) are not present: none,nil")


def test_a_new_user(plugins, accounts):
    wanted = {
        "uid": 700,
        "groups": ["wheel"],
        "password": "$6$a$b",
        "maxdays": 90,
        "mindays": 0,
        "inactdays": 0,
        "createhome": False,
    }
    dry, real, again = plugins.three_runs("user.present", name="bob", **wanted)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, "User bob set to be added", {})
    assert (real["result"], real["comment"]) == (True, "New user bob created")
    assert {key: real["changes"][key] for key in ("uid", "home", "password", "maxdays")} == {
        "uid": 700, "home": "", "password": REDACTED, "maxdays": 90,
    }  # fmt: skip
    assert accounts.shadow["bob"]["passwd"] == "$6$a$b"
    assert (again["comment"], again["changes"]) == ("User bob is present and up to date", {})
    row = plugins.state("user.present", name="eve", groups=["nil"], test=True)
    assert row["comment"] == "User eve set to be added (pending groups: nil)"


def test_a_user_that_cannot_be_made(plugins, accounts):
    accounts.broken.add("user.add")
    row = plugins.state("user.present", name="bob")
    assert (row["result"], row["comment"], row["changes"]) == (False, "Failed to create new user bob", {})


@pytest.mark.parametrize(
    ("broken", "arguments", "comment"),
    [
        ("shadow.set_password", {"password": "x"}, f"User bob created but failed to set password to {REDACTED}"),
        ("shadow.del_password", {"empty_password": True}, "User bob created but failed to empty password"),
        ("shadow.set_maxdays", {"maxdays": 9}, "User bob created but failed to set maximum days to 9"),
        ("shadow.set_date", {"date": 0}, "User bob created but failed to set last change date to 0"),
        ("shadow.set_expire", {"expire": 9}, "User bob created but failed to set expire days to 9"),
    ],
)
def test_a_new_user_without_all_it_should_have(plugins, accounts, broken, arguments, comment):
    accounts.broken.add(broken)
    row = plugins.state("user.present", name="bob", **arguments)
    assert (row["result"], row["comment"]) == (False, comment)


def test_a_failure_half_way_reports_what_was_done(plugins, accounts):
    accounts.raising["user.chgroups"] = CommandExecutionError("Command 'usermod' cannot be found")
    row = plugins.state("user.present", name="ada", shell="/bin/zsh", groups=[])
    assert row["result"] is False
    assert row["changes"] == {"shell": "/bin/zsh"}
    assert row["comment"] == "Command 'usermod' cannot be found"


def test_what_does_not_change_is_named_without_the_hash(plugins, accounts):
    accounts.broken |= {"user.chshell", "shadow.set_password"}
    row = plugins.state("user.present", name="ada", shell="/bin/zsh", password="secret")
    assert row["result"] is False
    assert row["comment"] == f"These values could not be changed: {{'shell': '/bin/zsh', 'passwd': '{REDACTED}'}}"


def test_a_clear_password_is_hashed_with_the_salt_it_has(plugins, accounts):
    _, real, again = plugins.three_runs("user.present", name="ada", password="clear", hash_password=True)
    assert real["changes"]["passwd"] == REDACTED
    assert accounts.shadow["ada"]["passwd"] == "$6$new$clear-sha512"
    assert again["comment"] == RIGHT


@pytest.mark.parametrize("lock", [True, False])
def test_password_lock(plugins, accounts, lock):
    accounts.shadow["ada"]["passwd"] = "hash" if lock else "!hash"
    _, real, again = plugins.three_runs("user.present", name="ada", password_lock=lock)
    assert real["changes"] == {"passwd": REDACTED}
    assert again["comment"] == RIGHT


def test_absent(plugins, accounts):
    dry, real, again = plugins.three_runs("user.absent", name="ada", purge=True, force=True)
    assert (dry["result"], dry["comment"]) == (None, "User ada set for removal")
    assert (real["result"], real["comment"]) == (True, "Removed user ada")
    assert real["changes"] == {"ada": "removed", "ada group": "removed"}
    assert (again["result"], again["comment"], again["changes"]) == (True, "User ada is not present", {})
    assert accounts.calls == [("user.delete", "ada", True, True)]


def test_absent_fails(plugins, accounts):
    accounts.broken.add("user.delete")
    row = plugins.state("user.absent", name="ada")
    assert (row["result"], row["comment"], row["changes"]) == (False, "Failed to remove user ada", {})


def test_footprint():
    declared = user.mod_footprint(
        {"name": "ada", "groups": ["wheel"], "optional_groups": ["x"], "gid": "staff", "shell": "/bin/zsh"}
    )
    assert {"accounts", "path:/etc/passwd", "user:ada", "group:ada", "path:~ada"} <= set(declared["writes"])
    assert {"group:wheel", "group:x", "group:staff", "path:/bin/zsh", "path:/etc/skel/**"} <= set(declared["reads"])
    numbers = user.mod_footprint({"name": "ada", "uid": 1005, "gid": 1006, "home": "/srv/ada/"})
    assert {"user:1005", "group:1006", "path:/srv/ada"} <= set(numbers["writes"])
    gone = {"fun": "absent", "name": "ada"}
    assert not any(name.startswith("path:~") for name in user.mod_footprint(gone)["writes"])
    assert "path:~ada/**" in user.mod_footprint({**gone, "purge": True})["writes"]


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


@pytest.mark.parametrize("name", ["ada", "bob"])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"expire": "xx"}, "'xx' is no number of days"),
        ({"date": "2030-02-31"}, "'2030-02-31' is no date: day is out of range for month"),
        ({"mindays": "many"}, "'many' is no number of days"),
        ({"warndays": [7]}, "[7] is no number of days"),
        ({"uid": -5}, "uid must be a whole number from 0 on, not -5"),
        ({"uid": "many"}, "uid must be a whole number from 0 on, not 'many'"),
        ({"uid": 1 << 32}, "uid must be a whole number from 0 on, not 4294967296"),
        ({"gid": "-5"}, "gid must be a whole number from 0 on, not '-5'"),
        ({"gid": True}, "gid must be a whole number from 0 on, not True"),
        ({"home": "home/ada"}, "home must be an absolute path, not 'home/ada'"),
        ({"shell": "zsh"}, "shell must be an absolute path, not 'zsh'"),
        ({"fullname": "A:B"}, "Unsupported char ':' in A:B"),
        ({"other": "A\nB"}, "Unsupported char '\\n' in A\nB"),
        ({"password": "$6$a:b"}, "Unsupported char ':' in password"),
    ],
)
def test_what_no_account_can_have_is_refused_before_anything_is_changed(plugins, accounts, name, wrong, told):
    for test in (True, False):
        row = plugins.state("user.present", name=name, **{"shell": "/bin/zsh", "fullname": "New", **wrong}, test=test)
        assert (row["result"], row["comment"], row["changes"]) == (False, told, {})
    assert accounts.calls == []


def test_a_group_that_does_not_exist_is_told_before_a_change(plugins, accounts):
    wanted = {"name": "ada", "shell": "/bin/zsh", "gid": "nowhere", "allow_gid_change": True}
    row = plugins.state("user.present", **wanted)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"] == "Failed to change user ada: there is no group nowhere"
    assert [call for call, *_ in accounts.calls if not call.startswith("file.")] == []


def test_a_date_is_kept_as_its_days(plugins, accounts):
    wanted = {"name": "ada", "expire": "2030-03-27", "maxdays": "90"}
    assert plugins.state("user.present", **wanted)["changes"] == {"expire": 22000, "max": 90}
    assert plugins.state("user.present", **wanted)["comment"] == RIGHT
