from __future__ import annotations

import pytest
from fake_accounts import FakeAccounts
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

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


def test_an_empty_list_of_members_removes_all(plugins, accounts):
    assert plugins.state("group.present", name="app", members=[])["changes"] == DONE
    assert accounts.groups["app"]["members"] == []


def test_a_failure_half_way_tells_what_is_left(plugins, accounts):
    accounts.raising["group.adduser"] = CommandExecutionError("Command 'gpasswd' cannot be found")
    row = plugins.state("group.present", name="app", gid=12, addusers=["c"])
    assert row["result"] is False
    assert "Command 'gpasswd' cannot be found\nSome changes could not be applied" in row["comment"]
    assert row["changes"] == {"Failed": {"addusers": ["c"]}}
