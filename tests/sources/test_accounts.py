"""The accounts of this machine."""

import grp
import pwd

import pytest

from asyncstate.sources.accounts import has_account


def test_accounts_are_those_of_the_machine():
    assert has_account(f"user:{pwd.getpwall()[0].pw_name}")
    assert has_account(f"group:{grp.getgrall()[0].gr_name}")


@pytest.mark.parametrize("account", ["user:no-such-user", "group:no-such-group", "user:", "group:", "user:a\0b"])
def test_what_is_no_account_is_none(account):
    assert not has_account(account)
