from __future__ import annotations

import pytest
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay

CASES = recorded("saltutil")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("states", "saltutil")
    return harness


@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])
