from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


def test_what_no_format_has(tmp_path):
    plugins = PluginHarness(tmp_path)
    plugins.load("modules", "slsutil")
    with pytest.raises(CommandExecutionError, match="Cannot serialize to json"):
        plugins.call("slsutil.serialize", "json", {1: object()})
