from __future__ import annotations

import pytest
from plugin_harness import PluginHarness


@pytest.mark.parametrize("function", ["set", "context"])
def test_nothing_is_done(tmp_path, function):
    plugins = PluginHarness(tmp_path)
    plugins.load("states", "stateconf")
    row = plugins.state(f"stateconf.{function}", name="params", port=80)
    assert row == {"name": "params", "result": True, "changes": {}, "comment": ""}
