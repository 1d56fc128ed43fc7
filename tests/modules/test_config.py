from __future__ import annotations

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path, shared={"o": 1, "l": [1]}, only="opts", ref="sdb://profile/key")
    harness.grains.update(shared={"g": 1}, grain={"deep": ["a"]})
    harness.pillar.update(
        shared={"p": 1, "o": 0, "l": [2]}, secret="x", master={"shared": {"m": 1}, "mastered": 1, "app.x": 1}
    )
    harness.load("modules", "config")
    return harness


def test_sdb_values_are_looked_up(plugins):
    plugins.salt["sdb.get"] = lambda uri: f"value of {uri}"
    assert plugins.call("config.get", "ref") == "value of sdb://profile/key"


def test_what_a_template_does_to_a_value_stays_there(plugins):
    plugins.call("config.get", "shared", merge="recurse")["o"] = 9
    plugins.call("config.get", "shared")["o"] = 9
    plugins.call("config.option", "shared")["o"] = 9
    assert (plugins.opts["shared"]["o"], plugins.pillar["shared"]["o"]) == (1, 0)


def test_small_ones(plugins):
    assert plugins.call("config.dot_vals", "app") == {"app.x": 1}
    assert plugins.call("config.items")["only"] == "opts"
    assert plugins.call("config.manage_mode", 644) == "0644"
    assert plugins.call("config.manage_mode", "'02755'") == "2755"
    assert plugins.call("config.manage_mode", None) is None
    assert plugins.call("config.valid_fileproto", "salt://x") is True
    assert plugins.call("config.valid_fileproto", "gopher://x") is False
    assert plugins.call("config.backup_mode", "minion") == "minion"
    assert plugins.call("config.backup_mode") == ""
