"""Regressions found by fuzzing: each file in cases/ is input that once broke the program."""

import json
from pathlib import Path

import pytest

CASES = sorted(Path(__file__).with_name("cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_that_was_found_ends_well(path, run_case):
    assert run_case(json.loads(path.read_text())) is None
