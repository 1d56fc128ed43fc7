"""The digest of a plan with all its inputs, and the options of its run."""

from __future__ import annotations

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.errors import PlanError
from asyncstate.redact.redacted_plan import RedactedPlan

DATA = {"a": {"test.nop": []}, "b": {"test.nop": [{"require": [{"test": "a"}]}]}}


@pytest.fixture
def opened(tmp_path):
    """Open a runtime of the same host with these settings."""
    (tmp_path / "salt").mkdir()

    def make(**more):
        roots = {"base": [str(tmp_path / "salt")]}
        state_dir = more.pop("state_dir", str(tmp_path / "state"))
        settings = Settings(file_roots=roots, cachedir=str(tmp_path / "cache"), state_dir=state_dir, **more)
        return StateRuntime(settings).open_sync()

    return make


def key_of(runtime, data=DATA):
    return runtime._records().key_of(runtime.compile_data_sync(data))


def test_a_plan_has_the_same_name_as_long_as_all_it_is_made_of_is_the_same(opened):
    with opened() as first, opened() as again, opened(pillar={"port": 1}) as other, opened(grains={"role": "db"}) as db:
        assert key_of(first) == key_of(again)
        assert len({key_of(first), key_of(other), key_of(db), key_of(first, {"a": {"test.nop": []}})}) == 4


def test_the_record_says_how_states_would_be_treated(opened):
    with opened(failhard=True) as runtime:
        plan = runtime.compile_data_sync(DATA)
        by_setting = runtime._records().recorder(plan, RedactedPlan(plan, runtime.secrets), failhard=None).record()
        by_option = runtime._records().recorder(plan, RedactedPlan(plan, runtime.secrets), failhard=False).record()
    assert [each.failhard for each in by_setting.chunks] == [True, True]
    assert [each.failhard for each in by_option.chunks] == [False, False]


def test_without_a_place_for_the_key_there_is_no_record(opened, tmp_path):
    (tmp_path / "file").write_text("")
    with opened(state_dir=str(tmp_path / "file" / "state")) as runtime:
        plan = runtime.compile_data_sync(DATA)
        with pytest.raises(PlanError):
            runtime._records().recorder(plan, RedactedPlan(plan, runtime.secrets), failhard=None)
        assert runtime._records().recorder(plan, RedactedPlan(plan, runtime.secrets), failhard=None, make_key=False)
