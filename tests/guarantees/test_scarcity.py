"""Under any scarcity a run ends with a documented exit code, and each state has a row or the reason for its lack."""

from __future__ import annotations

import os
import shutil

import pytest
from scarce import CODES, COMMANDS, LIMIT, STATES, STUBBORN, apply, few_processes, little_memory, small_disk
from web_server import web_server

START = 15.0
"""Seconds in which asyncstate starts and reports, on a machine that is busy."""
ENOUGH = START + 2 * COMMANDS * LIMIT
"""Seconds for a cell: twice the time limits of its commands, which run one at a time where processes are few."""

root_only = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="root makes a user for the test, with setpriv"
)


SMALL, LARGE = b"content\n" * 100, b"content\n" * 20_000
CACHED = 800
"""KiB in which all that is fetched from a server has room, twice."""
REPORTED = 400
"""KiB in which all reports have room."""


@pytest.fixture
def urls(tmp_path):
    """What is downloaded: a small file, and one that does not fit everywhere; from a server, and from a local file."""
    (tmp_path / "source").write_bytes(SMALL)
    with web_server() as server:
        server.pages = {"/small": (200, {}, SMALL), "/large": (200, {}, LARGE)}
        yield {"local": f"file://{tmp_path}/source", "small": f"{server.url}/small", "large": f"{server.url}/large"}


def failed_of(rows):
    """Return the IDs of the states that failed, but for the commands that have to."""
    ids = {tag.split("_|-")[1] for tag, row in rows.items() if row["result"] is not True}
    return ids - set(STUBBORN)


def cells(sample, whole):
    """Return the parameters of all runs, and those of the slow ones."""
    return [each if each in sample else pytest.param(each, marks=pytest.mark.slow) for each in whole]


@root_only
@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", cells({9}, range(3, 41)))
def test_with_few_processes(tmp_path, urls, number):
    ended = apply(tmp_path, few_processes(number), urls=urls, seconds=ENOUGH)
    assert ended.code in CODES, ended.err
    assert len(ended.rows) == STATES
    if number >= 8:
        assert failed_of(ended.rows) == set()


@root_only
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("folder", "kibibytes"),
    [
        (folder, size)
        if (folder, size) in {("state", 1600), ("files", 8)}
        else pytest.param(folder, size, marks=pytest.mark.slow)
        for folder in ("state", "cache", "tmp", "to", "home", "files")
        for size in (4, 8, 64, 400, 800, 1100, 1200, 1300, 1400, 1600, 2000, 2500, 3000)
    ],
)
def test_with_a_full_disk(tmp_path, urls, folder, kibibytes):
    ended = apply(tmp_path, small_disk(tmp_path / folder, kibibytes), urls=urls, seconds=ENOUGH)
    assert ended.code in CODES, ended.err
    assert b"Traceback" not in ended.err
    assert len(ended.rows) == STATES
    if folder != "to":  # what is fetched from a server goes through the cache
        fetched = {"small", "large"} if folder == "cache" and kibibytes < CACHED else set()
        assert failed_of(ended.rows) <= fetched
    if folder == "files":
        assert (b"could not be written: No space left on device" in ended.err) == (kibibytes < REPORTED)


@pytest.mark.timeout(180)
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
@pytest.mark.parametrize("mebibytes", cells({140}, range(60, 401, 10)))
def test_with_little_memory(tmp_path, urls, mebibytes):
    ended = apply(tmp_path, little_memory(mebibytes), urls=urls, seconds=ENOUGH, bytes=3_000_000)
    assert ended.code in CODES, ended.err
    if ended.code in (0, 2):
        assert len(ended.rows) == STATES
    else:
        assert b"memory ran out" in ended.err
    if mebibytes >= 240:
        assert ended.code == 2
