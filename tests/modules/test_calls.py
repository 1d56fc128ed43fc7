"""The tables in tests/modules/calls: support/call_tables.py says how they are read."""

import pytest
from call_tables import cases, expected, replay

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[*CASES])  # pytest names no test by a long text unless told to
def test_calls(tmp_path, monkeypatch, case):
    found = replay(tmp_path, monkeypatch, CASES[case])
    assert found == expected(CASES[case], found)
