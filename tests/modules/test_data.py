from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


def test_what_cannot_be_kept(tmp_path):
    plugins = PluginHarness(tmp_path)
    plugins.load("modules", "data")
    with pytest.raises(CommandExecutionError, match="Cannot write"):
        plugins.call("data.update", "a", object())
