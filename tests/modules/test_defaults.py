from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "defaults")
    return harness


def test_broken_file(plugins):
    plugins.salt_file("web/defaults.yaml", "a: [")
    with pytest.raises(CommandExecutionError, match=r"defaults\.yaml cannot be read"):
        plugins.call("defaults.get", "web:port")


def test_merge(plugins):
    target = {"a": {"b": 1}, "l": [1]}
    assert plugins.call("defaults.merge", target, {"a": {"c": 2}, "l": [2]}) is target
    assert target == {"a": {"b": 1, "c": 2}, "l": [2]}
    assert plugins.call("defaults.merge", target, {"l": [3]}, merge_lists=True, in_place=False)["l"] == [2, 3]
    assert target["l"] == [2]
    assert plugins.call("defaults.merge", {"a": 1}, None) == {"a": 1}
    assert plugins.call("defaults.merge", None, {"a": 1}, in_place=False) == {"a": 1}


@pytest.mark.parametrize("function", ["defaults.merge", "defaults.update"])
def test_nothing_cannot_be_changed_in_place(plugins, function):
    with pytest.raises(TypeError):
        plugins.call(function, None, {})


def test_deepcopy(plugins):
    source = {"a": [1]}
    copied = plugins.call("defaults.deepcopy", source)
    copied["a"].append(2)
    assert source == {"a": [1]}
