from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "data")
    return harness


def test_values_are_kept(plugins, tmp_path):
    assert plugins.call("data.load") == {}
    assert plugins.call("data.update", "a", {"b": 1}) is True
    plugins.call("data.update", "c", 2)
    other = PluginHarness(tmp_path)
    other.load("modules", "data")
    assert other.call("data.load") == {"a": {"b": 1}, "c": 2}
    assert other.call("data.get", "a:b") == 1
    assert other.call("data.get", "gone", 3) == 3
    assert other.call("data.get", ["c", "gone"]) == [2]
    assert (other.call("data.keys"), other.call("data.values")) == (["a", "c"], [{"b": 1}, 2])
    assert other.call("data.has_key", "c") is True


def test_failures(plugins, tmp_path):
    with pytest.raises(CommandExecutionError, match="Cannot write"):
        plugins.call("data.update", "a", object())
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache/datastore.json").write_text("{")
    with pytest.raises(CommandExecutionError, match="Cannot read"):
        plugins.call("data.load")
