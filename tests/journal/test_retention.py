"""The journal stays within bounds, whatever runs there were: by number, by age and by size, of its logs, too."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from messages import said

from asyncstate.config import Settings
from asyncstate.journal import store
from asyncstate.journal.entry import Header
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.log import logs_in
from asyncstate.journal.store import Journal
from asyncstate.model.event import ChunkFinished, RunFinished, RunStarted

DAY = 86400.0
ROW = {"name": "n", "result": True, "changes": {}, "comment": "x" * 2000}
ENDS = ("ends", "ends", "ends", "killed", "lives")


def keep(place, run, *, age=0.0, ends="ends", runs=100, days=1000.0, plan="p"):
    """Keep a run, as its process does; return what keeps it, if it lives."""
    made = Settings(
        state_dir=str(place / "state"),
        cachedir=str(place / "cache"),
        journal=True,
        journal_keep_runs=runs,
        journal_keep_days=days,
    )
    keeper = Keeper(made, Header(run=run, plan=plan), (plan, lambda: [b'{"version":1}']))
    wall = time.time() - age * DAY
    head = {"run_id": run, "time": 0.0}
    keeper.on_event(RunStarted(**head, seq=0, wall=wall, digest="d", chunks=1, concurrency=1, test=False))
    keeper.on_event(ChunkFinished(**head, seq=1, tag="t", row=ROW, why="met"))
    if ends == "ends":
        keeper.on_event(RunFinished(**head, seq=2, exit_code=0, succeeded=1, changed=0, failed=0))
        keeper.close()
    elif ends == "killed":
        keeper._log.close()
    return keeper


def kept(place):
    return [entry.id for entry in Journal.open(str(place / "state")).runs()]


def files_in(place):
    """The files of the journal by name, without those of runs that are kept."""
    return {str(path.relative_to(place / "state/journal")) for path in Path(place, "state/journal").rglob("*")}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ages=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(ENDS)), min_size=1, max_size=12),
    runs=st.integers(1, 5),
    days=st.integers(1, 30),
)
def test_after_each_run_no_more_is_kept_than_was_asked_for(tmp_path_factory, ages, runs, days):
    place = tmp_path_factory.mktemp("journal")
    alive = []
    for number, (age, ends) in enumerate([*ages, (0, "ends")]):
        keeper = keep(
            place, f"{number:016x}", age=age + number / 1000, ends=ends, runs=runs, days=days, plan=f"p{number}"
        )
        if ends == "lives":
            alive.append((number, keeper))
    living = {f"{number:016x}" for number, _ in alive}
    ended = [
        (age + number / 1000, f"{number:016x}")
        for number, (age, ends) in enumerate([*ages, (0, "ends")])
        if ends != "lives"
    ]
    wanted = [run for place_, (age, run) in enumerate(sorted(ended)) if not place_ or (place_ < runs and age < days)]
    assert set(kept(place)) - living <= set(wanted)
    assert min(ended)[1] in kept(place)
    assert living <= set(kept(place)), "what is under way stays"
    assert len(logs_in(str(place / "state"))) == len(alive)
    of_ended = {f"{run}.{what}" for run in set(kept(place)) - living for what in ("ended", "plan")}
    of_living = {f"{run}.{what}" for run in living for what in ("log", "plan")}
    of_plans = {f"plans/p{int(run, 16)}" for run in kept(place)}
    assert files_in(place) == {"plans", *of_ended, *of_living, *of_plans}
    for _, keeper in alive:
        keeper._log.close()


def test_a_reader_that_stays_reads_a_run_that_is_forgotten(tmp_path):
    for number in range(5):
        keep(tmp_path, f"{number:016x}", runs=5)
    events = Journal.open(str(tmp_path / "state")).events("0" * 16)
    next(events)
    for number in range(5, 40):
        keep(tmp_path, f"{number:016x}", runs=5)
    assert "0" * 16 not in kept(tmp_path)
    assert len(list(events)) == 2


def test_what_is_too_large_goes_first_plans_count(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 10_000)
    for number in range(8):
        keep(tmp_path, f"{number:016x}", age=-number / 1000)
    assert len(kept(tmp_path)) in {3, 4}
    monkeypatch.setattr(store, "MOST_BYTES", 1)
    keep(tmp_path, "f" * 16, age=-0.02)
    assert kept(tmp_path) == ["f" * 16], "the last one stays"


@pytest.mark.parametrize("runs", [1, 4])
def test_old_logs_of_killed_runs_go_also_where_they_cannot_be_ended(tmp_path, runs, caplog, monkeypatch, no_room):
    monkeypatch.setattr(store, "end_line", no_room)
    alive = keep(tmp_path, "a" * 16, ends="lives")
    for number in range(1, 9):
        keep(tmp_path, f"{number:016x}", ends="killed")
    keep(tmp_path, "b" * 16, runs=runs)
    assert len(logs_in(str(tmp_path / "state"))) == runs
    assert any(path.endswith(f"{'a' * 16}.log") for path in logs_in(str(tmp_path / "state")))
    assert said("log-stays") in caplog.text
    assert {"a" * 16, "b" * 16} <= set(kept(tmp_path))
    alive._log.close()


def test_a_clock_that_was_set_back_does_not_cost_the_run_that_ends(tmp_path):
    keep(tmp_path, "before", age=-1, runs=1)
    keep(tmp_path, "after", age=0, runs=1)
    assert kept(tmp_path) == ["after"]
