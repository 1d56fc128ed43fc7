from __future__ import annotations

import grp
import os
import pwd

import pytest
from tables import beside

from asyncstate.sources.machine import RealPaths, has_account, home_of

TABLES = beside(__file__)


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


@pytest.fixture
def place(tmp_path):
    """real/file; folder -> real; file -> real/file; loop -> loop."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "file").symlink_to(tmp_path / "real/file")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


CASES = TABLES["cases"]


@pytest.mark.parametrize(("path", "leads_to"), CASES)
def test_where_a_path_leads(place, path, leads_to):
    assert RealPaths()(f"{place}/{path}") == f"{os.path.realpath(place)}/{leads_to}"


def test_the_root():
    assert RealPaths()("/") == "/"


def test_a_path_deeper_than_any_that_exists(place):
    deep = "/a" * 5000
    assert RealPaths()(f"{place}/folder{deep}") == f"{os.path.realpath(place)}/real{deep}"


def test_a_folder_is_looked_at_once(place):
    real = RealPaths()
    assert real(f"{place}/folder/x").endswith("/real/x")
    (place / "folder").unlink()
    assert real(f"{place}/folder/y").endswith("/real/y")
    assert RealPaths()(f"{place}/folder/y").endswith("/folder/y")


def test_what_a_link_says(place):
    real = RealPaths()
    targets = {name: real.target(f"{place}/{name}") for name in ("folder", "file", "real", "nothing", "no\0path")}
    assert targets == {"folder": "real", "file": str(place / "real/file"), "real": "", "nothing": "", "no\0path": ""}
    (place / "folder").unlink()
    assert real.target(f"{place}/folder") == "real"
