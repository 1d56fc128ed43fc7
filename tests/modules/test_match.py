from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import InvocationError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "match")
    harness.opts["id"] = "web1"
    harness.pillar["role"] = "web"
    harness.grains.update(ipv4=["10.0.0.5"], ipv6=[])
    return harness


def test_filter_by(plugins):
    table = {"db*": 1, "web*": {"a": 1}, "default": 3}
    assert plugins.call("match.filter_by", table) == {"a": 1}
    assert plugins.call("match.filter_by", table, merge={"b": 2}) == {"a": 1, "b": 2}
    assert plugins.call("match.filter_by", table, minion_id="x") == 3
    assert plugins.call("match.filter_by", {"os:Deb*": 1}, tgt_type="grain") == 1
    assert plugins.call("match.filter_by", {"web*": None}, merge={"b": 2}) == {"b": 2}
    assert table["web*"] == {"a": 1}
    with pytest.raises(InvocationError):
        plugins.call("match.filter_by", table, merge=[1])
