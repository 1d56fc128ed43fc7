"""The accounts of this machine and their homes."""

import grp
import os
import pwd

import pytest

from asyncstate.sources.machine import has_account, home_of


def test_accounts_are_those_of_the_machine():
    assert has_account(f"user:{pwd.getpwall()[0].pw_name}")
    assert has_account(f"group:{grp.getgrall()[0].gr_name}")


@pytest.mark.parametrize("account", ["user:no-such-user", "group:no-such-group", "user:", "group:", "user:a\0b"])
def test_what_is_no_account_is_none(account):
    assert not has_account(account)


def test_homes_of_this_machine(monkeypatch):
    assert home_of("root") == pwd.getpwuid(0).pw_dir
    monkeypatch.setenv("HOME", "/somewhere")
    assert home_of("") == os.path.expanduser("~") == "/somewhere"


@pytest.mark.parametrize("user", ["no-such-user-here", "a\0b", "../root"])
def test_nobody_has_no_home(user):
    assert home_of(user) == ""
