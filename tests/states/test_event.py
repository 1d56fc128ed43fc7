from __future__ import annotations

import logging

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "event")
    harness.load("states", "event")
    return harness


@pytest.mark.parametrize("function", ["send", "fire_master", "mod_watch"])
def test_fires(plugins, caplog, function):
    caplog.set_level(logging.INFO)
    row = plugins.state(f"event.{function}", name="a/b", data={"x": 1})
    assert row == {
        "name": "a/b",
        "result": True,
        "comment": "Event fired",
        "changes": {"tag": "a/b", "data": {"x": 1}},
    }
    assert "event a/b: {'x': 1}" in caplog.text


def test_dry_run(plugins, caplog):
    caplog.set_level(logging.INFO)
    row = plugins.state("event.send", name="a/b", show_changed=False, test=True)
    assert row == {"name": "a/b", "result": None, "comment": "Event would have been fired", "changes": {}}
    assert caplog.text == ""


def test_wait(plugins):
    assert plugins.state("event.wait", name="a/b") == {"name": "a/b", "result": True, "comment": "", "changes": {}}


def test_data_of_an_event(plugins, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("VISIBLE", "yes")
    plugins.pillar["p"] = 1
    plugins.call("event.send", "t", with_env=["VISIBLE"], with_grains=["os"], with_pillar=True, with_env_opts=True, k=2)
    expected = {
        "environ": {"VISIBLE": "yes"},
        "grains": {"os": "Debian"},
        "pillar": {"p": 1},
        "saltenv": "base",
        "pillarenv": None,
        "k": 2,
    }
    assert f"event t: {expected!r}" in caplog.text
