"""The tables in tests/states/rows: support/state_tables.py says how they are read."""

import pytest
from state_tables import cases, expected, replay

CASES = cases()


@pytest.mark.feature("F195", "F196", "F211")
@pytest.mark.parametrize("case", CASES, ids=[*CASES])  # pytest names no test by a long text unless told to
def test_rows(tmp_path, monkeypatch, case):
    found = replay(tmp_path, monkeypatch, CASES[case])
    assert found == expected(CASES[case], found)
