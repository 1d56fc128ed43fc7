from __future__ import annotations

import grp

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "group")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/group").write_text("app:x:1001:a,b\nbroken\nempty:x:2:\n")
    return harness


def test_info(plugins, tmp_path):
    entry = grp.getgrgid(0)
    assert plugins.call("group.info", entry.gr_name) == {
        "name": entry.gr_name,
        "passwd": entry.gr_passwd,
        "gid": 0,
        "members": entry.gr_mem,
    }
    assert plugins.call("group.info", "no_such_group") == {}
    app = {"name": "app", "passwd": "x", "gid": 1001, "members": ["a", "b"]}
    assert plugins.call("group.info", "app", root=str(tmp_path)) == app
    assert plugins.call("group.getent", root=str(tmp_path))[0] == app


def test_lists(plugins, tmp_path):
    name = grp.getgrgid(0).gr_name
    assert name in plugins.call("group.list_groups")
    assert name in [entry["name"] for entry in plugins.call("group.getent")]
    with pytest.raises(CommandExecutionError, match="Cannot read"):
        plugins.call("group.info", "app", root=str(tmp_path / "none"))
