from __future__ import annotations

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("states", "test")
    return harness


def test_configurable_random_takes_both_values(plugins):
    rows = [
        plugins.state("test.configurable_test_state", name="x", changes="Random", result="random") for _ in range(80)
    ]
    assert {row["result"] for row in rows} == {True, False}
    assert {bool(row["changes"]) for row in rows} == {True, False}


def chunk(name):
    return {"state": "test", "__id__": name, "name": name, "fun": "nop"}


def test_mod_watch_lists_the_watched_states_that_changed(plugins):
    plugins.running = {
        "test_|-a_|-a_|-nop": {"changes": {"x": 1}},
        "test_|-b_|-b_|-nop": {"changes": {}},
        "test_|-c_|-c_|-nop": {"changes": {"y": 1}},
    }
    low = {"__reqs__": {"watch": [chunk("a"), chunk("b"), chunk("c")]}}
    row = plugins.state("test.mod_watch", name="x", sfun="nop", low=low)
    assert row == {
        "name": "x",
        "result": True,
        "comment": "Watch statement fired.",
        "changes": {"Requisites with changes": ["test: a", "test: c"]},
    }


def test_mod_watch_can_be_told_what_to_return(plugins):
    row = plugins.state("test.mod_watch", name="x", sfun="nop", result=False, comment="mine", changes={"a": "b"})
    assert row == {"name": "x", "result": False, "comment": "mine", "changes": {"a": "b"}}
