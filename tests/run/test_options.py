"""Options that no run can have are refused where they are given."""

from __future__ import annotations

import math

import pytest
from messages import said as said_of

from asyncstate import Settings, StateRuntime
from asyncstate.run.options import RunOptions


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        *(("concurrency", number, f"at least 1, not {number}") for number in (0, -3)),
        *(("timeout", seconds, f"at least 0, not {seconds}") for seconds in (-0.1, -math.inf, math.nan)),
        ("prefetch", -1, "at least 0, not -1"),
        ("lanes", {"downloads": 0}, said_of("lane-of-nothing", name="downloads", number=0)),
    ],
)
def test_a_number_below_the_least_is_refused(option, value, said):
    with pytest.raises(ValueError, match=said):
        RunOptions(run_id="r", **{option: value})


def test_everything_else_is_taken():
    assert RunOptions(run_id="r", concurrency=1, timeout=0, lanes={"disk": 1}).concurrency == 1


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_priority_is_one_of_the_plan(tmp_path, length):
    runtime = StateRuntime(Settings(cachedir=str(tmp_path)))
    with runtime.open_sync():
        plan = runtime.compile_data_sync({"a": "test.nop", "b": "test.nop"})
    with pytest.raises(ValueError, match=said_of("priority-of-another-plan", nodes=2, given=length)):
        runtime.run(plan, priority=[0] * length)
