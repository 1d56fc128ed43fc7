from __future__ import annotations

import re
import socket
from datetime import UTC, datetime, timedelta

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "system")
    return harness


def test_time(plugins):
    assert re.fullmatch(r"\d\d:\d\d:\d\d [AP]M", plugins.call("system.get_system_time"))
    assert re.fullmatch(r"\w{3} \d\d/\d\d/\d{4}", plugins.call("system.get_system_date"))
    for offset, hours in (("+0200", 2), ("-0330", -3.5)):
        shown = datetime.fromisoformat(plugins.call("system.get_system_date_time", offset) + "+00:00")
        assert abs(shown - datetime.now(UTC) - timedelta(hours=hours)) < timedelta(seconds=5)
    with pytest.raises(CommandExecutionError):
        plugins.call("system.get_system_time", "2")


def test_names(plugins):
    assert plugins.call("system.get_computer_name") == socket.gethostname()
    assert isinstance(plugins.call("system.get_computer_desc"), (str, bool))
    assert isinstance(plugins.call("system.get_reboot_required_witnessed"), bool)
