from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "saltutil")
    return harness


def test_nothing_to_synchronise(plugins):
    assert plugins.call("saltutil.sync_all")["modules"] == []
    for kind in ("modules", "states", "grains", "utils", "renderers", "pillar"):
        assert plugins.call(f"saltutil.sync_{kind}", refresh=True) == []


def test_refreshing(plugins):
    for function in ("refresh_modules", "refresh_grains", "refresh_pillar", "pillar_refresh"):
        assert plugins.call(f"saltutil.{function}") is True
    assert plugins.services.calls == [
        ("reload",),
        ("refresh", {"grains": True, "pillar": False}),
        ("refresh", {"grains": False, "pillar": True}),
        ("refresh", {"grains": False, "pillar": True}),
    ]


def test_no_jobs(plugins):
    assert plugins.call("saltutil.is_running", "state.*") == []
    assert plugins.call("saltutil.running") == []


@pytest.mark.parametrize(
    ("function", "arguments"), [("runner", ("jobs.list",)), ("wheel", ("key.list",)), ("cmd", ("*", "test.ping"))]
)
def test_what_needs_a_master(plugins, function, arguments):
    with pytest.raises(CommandExecutionError, match="needs a Salt master"):
        plugins.call(f"saltutil.{function}", *arguments)
