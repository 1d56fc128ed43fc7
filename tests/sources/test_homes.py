import os
import pwd

import pytest

from asyncstate.sources.homes import home_of


def test_homes_of_this_machine(monkeypatch):
    assert home_of("root") == pwd.getpwuid(0).pw_dir
    monkeypatch.setenv("HOME", "/somewhere")
    assert home_of("") == os.path.expanduser("~") == "/somewhere"


@pytest.mark.parametrize("user", ["no-such-user-here", "a\0b", "../root"])
def test_nobody_has_no_home(user):
    assert home_of(user) == ""
