from __future__ import annotations

import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "publish")
    return harness


@pytest.mark.parametrize("function", ["publish", "full_data"])
def test_nobody_answers(plugins, caplog, function):
    assert plugins.call(f"publish.{function}", "web*", "test.ping", timeout=1) == {}
    assert "test.ping to web* reaches nobody" in caplog.text


def test_runners_are_on_a_master(plugins):
    assert plugins.call("publish.runner", "manage.up").startswith("No access to master")
