from __future__ import annotations

import pytest
from plugin_harness import PluginHarness


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("get", ("*", "network.ip_addrs"), {}),
        ("get", ("*", ["a", "b"], "compound"), {}),
        ("valid", (), {}),
        ("get_docker", ("eth0",), {}),
        ("update", (), True),
        ("send", ("x",), True),
        ("delete", ("x",), True),
        ("flush", (), True),
    ],
)
def test_the_mine_is_empty(tmp_path, function, arguments, expected):
    plugins = PluginHarness(tmp_path)
    plugins.load("modules", "mine")
    assert plugins.call(f"mine.{function}", *arguments) == expected
