"""Whatever is scarce, a run ends: with a documented exit code, and with a row for each state, or a word why not."""

from __future__ import annotations

import os
import shutil

import pytest
from scarce import CODES, STATES, apply, few_processes, little_memory, small_disk

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


@root_only
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("folder", "kibibytes"),
    [
        (folder, size)
        if (folder, size) in {("state", 1600), ("to", 8)}
        else pytest.param(folder, size, marks=pytest.mark.slow)
        for folder in ("state", "cache", "tmp", "to")
        for size in (4, 8, 64, 400, 800, 1100, 1200, 1300, 1400, 1600, 2000, 2500, 3000)
    ],
)
def test_with_a_full_disk(tmp_path, url, folder, kibibytes):
    ended = apply(tmp_path, small_disk(tmp_path / folder, kibibytes), url=url, seconds=ENOUGH)
    assert ended.code in CODES, ended.err
    assert b"Traceback" not in ended.err
    rows = ended.rows
    assert len(rows) == STATES
    if folder != "to":
        assert [tag for tag, row in rows.items() if row["result"] is not True and "stubborn" not in tag] == []


@pytest.mark.timeout(180)
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
@pytest.mark.parametrize("mebibytes", cells({100, 140, 240}, range(60, 401, 10)))
def test_with_little_memory(tmp_path, url, mebibytes):
    ended = apply(tmp_path, little_memory(mebibytes), url=url, seconds=ENOUGH, bytes=3_000_000)
    assert ended.code in CODES, ended.err
    if ended.code in (0, 2):
        assert len(ended.rows) == STATES
    else:
        assert b"memory ran out" in ended.err or b"MemoryError" in ended.out
    if mebibytes >= 240:
        assert ended.code == 2
