from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path, shared={"o": 1, "l": [1]}, only="opts", ref="sdb://profile/key")
    harness.grains.update(shared={"g": 1}, grain={"deep": ["a"]})
    harness.pillar.update(
        shared={"p": 1, "o": 0, "l": [2]}, secret="x", master={"shared": {"m": 1}, "mastered": 1, "app.x": 1}
    )
    harness.load("modules", "config")
    return harness


@pytest.mark.parametrize(
    ("key", "arguments", "expected"),
    [
        ("only", {}, "opts"),
        ("shared", {}, {"o": 1, "l": [1]}),
        ("shared", {"omit_opts": True}, {"g": 1}),
        ("shared", {"omit_opts": True, "omit_grains": True}, {"p": 1, "o": 0, "l": [2]}),
        ("shared", {"omit_opts": True, "omit_grains": True, "omit_pillar": True}, {"m": 1}),
        ("grain:deep:0", {}, "a"),
        ("mastered", {}, 1),
        ("test.foo", {}, "unconfigured"),
        ("gone", {}, ""),
        ("gone", {"default": 3}, 3),
        ("shared", {"merge": "recurse"}, {"m": 1, "p": 1, "o": 1, "l": [1], "g": 1}),
        ("shared:o", {"merge": "recurse"}, 1),
        ("shared", {"merge": "overwrite"}, {"o": 1, "l": [1]}),
        ("gone", {"merge": "recurse", "default": 3}, 3),
    ],
)
def test_get(plugins, key, arguments, expected):
    assert plugins.call("config.get", key, **arguments) == expected


def test_sdb_values_are_looked_up(plugins):
    plugins.salt["sdb.get"] = lambda uri: f"value of {uri}"
    assert plugins.call("config.get", "ref") == "value of sdb://profile/key"


def test_what_a_template_does_to_a_value_stays_there(plugins):
    plugins.call("config.get", "shared", merge="recurse")["o"] = 9
    plugins.call("config.get", "shared")["o"] = 9
    plugins.call("config.option", "shared")["o"] = 9
    assert (plugins.opts["shared"]["o"], plugins.pillar["shared"]["o"]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"o": 1, "l": [1]}),
        ({"omit_opts": True}, {"g": 1}),
        ({"omit_all": True}, ""),
        ({"omit_all": True, "default": 3}, 3),
    ],
)
def test_option(plugins, arguments, expected):
    assert plugins.call("config.option", "shared", **arguments) == expected


def test_option_by_pattern(plugins):
    assert plugins.call("config.option", "sec*", wildcard=True) == {"secret": "x"}
    assert plugins.call("config.option", "shar*", wildcard=True) == {"shared": {"o": 1, "l": [1]}}
    assert plugins.call("config.option", "zz*", wildcard=True) == {}


def test_merge(plugins):
    assert plugins.call("config.merge", "shared") == {"o": 1, "l": [1], "m": 1, "p": 1}
    assert plugins.call("config.merge", "only") == "opts"
    assert plugins.call("config.merge", "gone", 3) == 3
    assert plugins.call("config.merge", "test.foo") == "unconfigured"


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


def test_names_of_our_own_options_belong_to_the_tree_first(plugins):
    plugins.opts.update(timeout=None, lanes={"x": 1}, concurrency=4)
    assert plugins.call("config.get", "timeout", "default") == "default"
    assert plugins.call("config.get", "lanes") == {"x": 1}
    plugins.pillar.update(timeout=30, lanes=["left"])
    plugins.grains["concurrency"] = "high"
    assert plugins.call("config.get", "timeout", "default") == 30
    assert plugins.call("config.get", "lanes:0") == "left"
    assert plugins.call("config.get", "concurrency") == "high"
    assert plugins.call("config.get", "concurrency", omit_grains=True) == 4


def test_the_bootstrap_script_is_refused(plugins):
    with pytest.raises(CommandExecutionError, match=r"cp\.cache_file downloads any URL"):
        plugins.call("config.gather_bootstrap_script")
