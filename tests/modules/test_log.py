from __future__ import annotations

import logging

import pytest
from plugin_harness import PluginHarness


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical", "exception"])
def test_log(tmp_path, caplog, level):
    plugins = PluginHarness(tmp_path)
    plugins.load("modules", "log")
    caplog.set_level(logging.DEBUG)
    assert plugins.call(f"log.{level}", "100%s {}") is True
    name = "ERROR" if level == "exception" else level.upper()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [(name, "100%s {}")]
