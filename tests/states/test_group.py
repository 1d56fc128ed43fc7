from __future__ import annotations

import pytest
from asyncstate.states import group
from fake_accounts import FakeAccounts
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

HEAD = "The following group attributes are set to be changed:\n"
DONE = {"Final": "All changes applied successfully"}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("states", "group")
    return harness


@pytest.fixture
def accounts(plugins):
    accounts = FakeAccounts(plugins)
    accounts.group__add("app", 10)
    accounts.groups["app"]["members"] = ["a", "b"]
    return accounts


@pytest.mark.parametrize(
    ("arguments", "said", "members"),
    [
        ({"gid": 11}, "gid: 11\n", ["a", "b"]),
        ({"gid": "11"}, "gid: 11\n", ["a", "b"]),
        ({"members": ["c"]}, "members: ['c']\n", ["c"]),
        ({"members": "c,d"}, "members: ['c', 'd']\n", ["c", "d"]),
        ({"addusers": ["b", "c"]}, "addusers: ['c']\n", ["a", "b", "c"]),
        ({"delusers": ["b", "x"]}, "delusers: ['b']\n", ["a"]),
        ({"addusers": ["c"], "delusers": ["a"]}, "addusers: ['c']\ndelusers: ['a']\n", ["b", "c"]),
    ],
)
def test_a_change_is_foretold_made_and_not_made_again(plugins, accounts, arguments, said, members):
    dry, real, again = plugins.three_runs("group.present", name="app", **arguments)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, HEAD + said, {})
    assert (real["result"], real["comment"], real["changes"]) == (True, HEAD + said, DONE)
    assert (again["comment"], again["changes"]) == ("Group app is present and up to date", {})
    assert accounts.groups["app"]["members"] == members


def test_an_empty_list_of_members_removes_all(plugins, accounts):
    assert plugins.state("group.present", name="app", members=[])["changes"] == DONE
    assert accounts.groups["app"]["members"] == []


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        (
            {"members": ["a"], "addusers": ["b"]},
            'Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together. ',
        ),
        ({"addusers": ["a"], "delusers": ["a"]}, "Error. Same user(s) can not be added and deleted simultaneously"),
        ({"gid": "many"}, "Invalid gid"),
    ],
)
def test_bad_arguments(plugins, accounts, arguments, comment):
    row = plugins.state("group.present", name="app", **arguments)
    assert (row["result"], row["comment"], row["changes"]) == (False, comment, {})


@pytest.mark.parametrize("name", ["app", "new"])
def test_nothing_is_done_for_members_that_do_not_exist(plugins, accounts, name):
    before = accounts.calls.copy()
    row = plugins.state("group.present", name=name, gid=12, addusers=["nosuch"])
    assert (row["result"], row["changes"], accounts.calls) == (False, {}, before)
    assert "These users do not exist: nosuch" in row["comment"]


def test_a_new_group(plugins, accounts):
    dry, real, again = plugins.three_runs("group.present", name="new", gid=77, members=["a"], system=True)
    assert (dry["result"], dry["comment"]) == (None, "Group new set to be added")
    assert (real["result"], real["comment"]) == (True, "New group new created")
    assert real["changes"] == {"name": "new", "passwd": "x", "gid": 77, "members": ["a"]}
    assert again["changes"] == {}


def test_a_number_that_is_taken(plugins, accounts):
    row = plugins.state("group.present", name="new", gid=10)
    assert row["comment"] == "Group new is not present but gid 10 is already taken by group app"
    assert row["result"] is False
    assert plugins.state("group.present", name="new", gid=10, non_unique=True)["result"] is True


@pytest.mark.parametrize(
    ("broken", "arguments", "comment"),
    [
        ("group.add", {"name": "new"}, "Failed to create new group new"),
        (
            "group.members",
            {"name": "new", "members": ["a"]},
            "Group new has been created but, some changes could not be applied",
        ),
        ("group.chgid", {"name": "app", "gid": 3}, f"{HEAD}gid: 3\nSome changes could not be applied"),
    ],
)
def test_failures(plugins, accounts, broken, arguments, comment):
    accounts.broken.add(broken)
    row = plugins.state("group.present", **arguments)
    assert (row["result"], row["comment"]) == (False, comment)


def test_a_failure_half_way_tells_what_is_left(plugins, accounts):
    accounts.raising["group.adduser"] = CommandExecutionError("Command 'gpasswd' cannot be found")
    row = plugins.state("group.present", name="app", gid=12, addusers=["c"])
    assert row["result"] is False
    assert "Command 'gpasswd' cannot be found\nSome changes could not be applied" in row["comment"]
    assert row["changes"] == {"Failed": {"addusers": ["c"]}}


def test_absent(plugins, accounts):
    dry, real, again = plugins.three_runs("group.absent", name="app")
    assert (dry["result"], dry["comment"]) == (None, "Group app is set for removal")
    assert (real["comment"], real["changes"]) == ("Removed group app", {"app": ""})
    assert (again["result"], again["comment"], again["changes"]) == (True, "Group not present", {})
    accounts.broken.add("group.delete")
    row = plugins.state("group.absent", name="root")
    assert (row["result"], row["comment"]) == (False, "Failed to remove group root")


def test_footprint():
    declared = group.mod_footprint({"name": "app", "gid": 70, "members": ["a"], "addusers": "b,c"})
    assert {"accounts", "group:app", "group:70", "user:a#groups", "user:b#groups", "user:c#groups"} < set(
        declared["writes"]
    )
    assert "path:/etc/group" in declared["writes"]
