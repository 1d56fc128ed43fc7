"""Options that no run can have are refused where they are given."""

from __future__ import annotations

import math

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.run.options import RunOptions


@pytest.mark.parametrize("concurrency", [0, -3])
def test_a_run_has_room_for_one_state_at_least(concurrency):
    with pytest.raises(ValueError, match=f"at least 1, not {concurrency}"):
        RunOptions(run_id="r", concurrency=concurrency)


@pytest.mark.parametrize("timeout", [-0.1, -math.inf, math.nan])
def test_a_time_is_not_negative(timeout):
    with pytest.raises(ValueError, match=f"at least 0, not {timeout}"):
        RunOptions(run_id="r", timeout=timeout)


def test_a_lane_has_a_place_at_least():
    with pytest.raises(ValueError, match="lane 'downloads' has a number of places, so at least 1, not 0"):
        RunOptions(run_id="r", lanes={"downloads": 0})


def test_everything_else_is_taken():
    assert RunOptions(run_id="r", concurrency=1, timeout=0, lanes={"disk": 1}).concurrency == 1


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_priority_is_one_of_the_plan(tmp_path, length):
    runtime = StateRuntime(Settings(cachedir=str(tmp_path)))
    with runtime.open_sync():
        plan = runtime.compile_data_sync({"a": "test.nop", "b": "test.nop"})
    with pytest.raises(ValueError, match=f"a number for each node of the plan, so 2, not {length}"):
        runtime.run(plan, priority=[0] * length)
