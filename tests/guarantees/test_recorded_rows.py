"""The rows of Salt 3008.3, recorded by record_salt.py, and ours: tag, result, changes, comment, in the same order."""

import asyncio
import json
from pathlib import Path

import pytest
from record_salt import TREES, comparable

from asyncstate import Settings, StateRuntime

ROWS = json.loads((Path(__file__).parents[1] / "recorded" / "salt_3008" / "rows.json").read_text())

MASK = "**********"
BETTER = {
    # Salt shows the keys of changes that no_log hides, though they may come from the arguments.
    "probe_|-no_log_|-no_log_|-run": [
        *("probe_|-no_log_|-no_log_|-run", True, {MASK: MASK, f"{MASK} (2)": 0, f"{MASK} (3)": [MASK]}),
        *(MASK, True, "arguments", MASK),
    ],
    # A member that has run is not given to mod_aggregate again: it would be done twice.
    "grouped_|-two_|-two_|-told": [
        *("grouped_|-two_|-two_|-told", True, {}, "given ['alike', 'two']", True, "aggregated", "two"),
    ],
    "grouped_|-alike_|-alike_|-also": [
        *("grouped_|-alike_|-alike_|-also", True, {}, "given ['alike']", True, "aggregated", "alike"),
    ],
}


@pytest.fixture
def apply(tmp_path):
    roots = {"file_roots": {"base": [str(TREES)]}, "pillar_roots": {"base": [str(tmp_path)]}}
    settings = {**roots, "id": "here", "foresight": False}  # Salt has none: its dry run asks each state for itself

    async def run(name, test, width):
        async with StateRuntime(Settings(**settings, cachedir=str(tmp_path))) as runtime:
            return await runtime.apply([name], test=test, concurrency=width)

    return lambda *arguments: comparable(asyncio.run(run(*arguments)).rows)


@pytest.mark.feature("F194", "F064", "F065", "F066", "F067", "F068", "F069", "F072", "F073", "F111")
@pytest.mark.feature("F051", "F052", "F053", "F056", "F060", "F070", "F080", "F083", "F084", "F101", "F121", "F143")
@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize("recorded", ROWS)
def test_the_same_rows_as_salt(apply, recorded, width):
    name, _, test = recorded.partition(" ")
    assert apply(name, bool(test), width) == [BETTER.get(row[0], row) for row in ROWS[recorded]]
