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


@pytest.mark.parametrize(
    ("function", "arguments"), [("add_host", ("10.0.0.1", "db")), ("rm_host", ("10.0.0.1", "gone"))]
)
def test_nothing_to_do(plugins, function, arguments):
    before = os.stat(plugins.tmp_path / "hosts").st_ino
    assert plugins.call(f"hosts.{function}", *arguments) is True
    assert os.stat(plugins.tmp_path / "hosts").st_ino == before


def test_failure_changes_nothing(plugins, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandExecutionError, match="Cannot write"):
        plugins.call("hosts.rm_host", "10.0.0.1", "db")
    assert table(plugins) == TABLE
