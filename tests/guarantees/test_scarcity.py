"""Whatever is scarce, a run ends: with a documented exit code, and with a row for each state, or a word why not."""

from __future__ import annotations

import os
import shutil

import pytest
from scarce import CODES, STATES, apply, few_processes

ENOUGH = 60.0
"""Seconds for a cell: what its time limits and the ends of stubborn programs take is less, on a machine that is busy."""

root_only = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="root makes a user for the test, with setpriv"
)


@pytest.fixture
def url(tmp_path):
    (tmp_path / "source").write_text("content\n" * 100)
    return f"file://{tmp_path}/source"


def cells(sample, whole):
    """Return the parameters of all runs, and those of the slow ones."""
    return [each if each in sample else pytest.param(each, marks=pytest.mark.slow) for each in whole]


@root_only
@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", cells({4, 9}, range(3, 41)))
def test_with_few_processes(tmp_path, url, number):
    ended = apply(tmp_path, few_processes(number), url=url, seconds=ENOUGH)
    assert ended.code in CODES, ended.err
    rows = ended.rows
    assert len(rows) == STATES
    failed = {tag for tag, row in rows.items() if row["result"] is not True}
    if number >= 8:
        assert failed == {tag for tag in rows if "stubborn" in tag}, [rows[tag]["comment"] for tag in failed]
