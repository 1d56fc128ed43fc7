from __future__ import annotations

import errno
import os

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

TABLE = """# head
127.0.0.1\tlocalhost me  # myself

10.0.0.1 db db.example
10.0.0.1 db-two
::1 localhost
"""


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "hosts")
    (tmp_path / "hosts").write_text(TABLE)
    harness.salt["config.option"] = {"hosts.file": str(tmp_path / "hosts")}.get
    return harness


def table(plugins):
    return (plugins.tmp_path / "hosts").read_text()


def test_reading(plugins):
    assert plugins.call("hosts.list_hosts") == {
        "comment-0": ["# head"],
        "127.0.0.1": {"aliases": ["localhost", "me"], "comment": "myself"},
        "10.0.0.1": {"aliases": ["db", "db.example", "db-two"]},
        "::1": {"aliases": ["localhost"]},
    }
    assert plugins.call("hosts.get_ip", "db.example") == "10.0.0.1"
    assert plugins.call("hosts.get_ip", "gone") == ""
    assert plugins.call("hosts.get_alias", "10.0.0.1") == ["db", "db.example", "db-two"]
    assert plugins.call("hosts.has_pair", "10.0.0.1", ["db", "db-two"]) is True
    assert plugins.call("hosts.has_pair", "10.0.0.1", "web") is False


def test_no_file(plugins, tmp_path):
    os.unlink(tmp_path / "hosts")
    assert plugins.call("hosts.list_hosts") == {}
    assert plugins.call("hosts.add_host", "10.0.0.2", "web") is True
    assert table(plugins) == "10.0.0.2\t\tweb\n"


@pytest.mark.parametrize(
    ("function", "arguments", "old", "new"),
    [
        ("set_host", ("10.0.0.1", "new"), "10.0.0.1 db db.example\n10.0.0.1 db-two\n", "10.0.0.1\t\tnew\n"),
        ("set_host", ("10.0.0.1", " "), "10.0.0.1 db db.example\n10.0.0.1 db-two\n", ""),
        (
            "set_host",
            ("10.0.0.2", "web", "the web"),
            "::1 localhost\n",
            "::1 localhost\n10.0.0.2\t\tweb\t\t# the web\n",
        ),
        (
            "add_host",
            ("127.0.0.1", "more"),
            "127.0.0.1\tlocalhost me  # myself",
            "127.0.0.1\t\tlocalhost me more\t\t# myself",
        ),
        ("add_host", ("10.0.0.2", "web"), "::1 localhost\n", "::1 localhost\n10.0.0.2\t\tweb\n"),
        ("rm_host", ("10.0.0.1", "db"), "10.0.0.1 db db.example\n", "10.0.0.1\t\tdb.example\n"),
        ("rm_host", ("10.0.0.1", "db-two"), "10.0.0.1 db-two\n", ""),
        ("set_comment", ("::1", "six"), "::1 localhost\n", "::1\t\tlocalhost\t\t# six\n"),
    ],
)
def test_writing(plugins, function, arguments, old, new):
    assert plugins.call(f"hosts.{function}", *arguments) is True
    assert table(plugins) == TABLE.replace(old, new)


@pytest.mark.parametrize(
    ("function", "arguments"), [("add_host", ("10.0.0.1", "db")), ("rm_host", ("10.0.0.1", "gone"))]
)
def test_nothing_to_do(plugins, function, arguments):
    before = os.stat(plugins.tmp_path / "hosts").st_ino
    assert plugins.call(f"hosts.{function}", *arguments) is True
    assert os.stat(plugins.tmp_path / "hosts").st_ino == before


def test_comment_on_nothing(plugins):
    assert plugins.call("hosts.set_comment", "10.9.9.9", "x") is False


def test_a_mount_point_is_written_in_place(plugins, monkeypatch):
    def busy(*_):
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(os, "replace", busy)
    plugins.call("hosts.rm_host", "10.0.0.1", "db-two")
    assert table(plugins) == TABLE.replace("10.0.0.1 db-two\n", "")
    assert os.listdir(plugins.tmp_path).count("hosts") == 1
    assert not [name for name in os.listdir(plugins.tmp_path) if name.startswith(".asyncstate")]


def test_failure_changes_nothing(plugins, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandExecutionError, match="Cannot write"):
        plugins.call("hosts.rm_host", "10.0.0.1", "db")
    assert table(plugins) == TABLE
