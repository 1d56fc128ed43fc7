"""The journal stays within bounds, whatever runs there were: by number, by age and by size, of its logs, too."""

import os
import sqlite3
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncstate.config import Settings
from asyncstate.errors import JournalError
from asyncstate.journal import database
from asyncstate.journal.entry import Header
from asyncstate.journal.folder import DATABASE, logs_in
from asyncstate.journal.keeper import Keeper
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
    keeper = Keeper(made, Header(run=run, plan=plan), (plan, [b'{"version":1}']))
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
    journal = Journal.open(str(place / "state"), write=False)
    try:
        return [entry.id for entry in journal.runs()]
    finally:
        journal.close()


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
    with sqlite3.connect(place / "state" / DATABASE) as found:
        assert found.execute("SELECT count(*) FROM plans").fetchone()[0] <= runs
        assert found.execute("SELECT count(*) FROM events WHERE run NOT IN (SELECT id FROM runs)").fetchone() == (0,)
    found.close()
    for _, keeper in alive:
        keeper._log.close()


def test_the_files_of_the_journal_do_not_grow_with_the_number_of_runs(tmp_path):
    sizes = []
    for number in range(60):
        keep(tmp_path, f"{number:016x}", runs=5, plan=f"p{number}")
        names = os.listdir(tmp_path / "state")
        sizes.append(sum(os.path.getsize(tmp_path / "state" / name) for name in names if name.startswith(DATABASE)))
    assert max(sizes[30:]) <= max(sizes[10:30])
    assert len(kept(tmp_path)) == 5


def test_a_reader_that_stays_does_not_keep_the_log_of_the_database_when_it_has_gone(tmp_path):
    for number in range(5):
        keep(tmp_path, f"{number:016x}", runs=5)
    reader = Journal.open(str(tmp_path / "state"), write=False)
    events = reader.events("0" * 16)
    next(events)
    for number in range(5, 40):
        keep(tmp_path, f"{number:016x}", runs=5)
    events.close()
    reader.close()
    keep(tmp_path, "f" * 16, runs=5)
    left = tmp_path / "state" / f"{DATABASE}-wal"
    assert not left.exists() or left.stat().st_size == 0


def test_what_is_too_large_goes_first_plans_count(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "MOST_BYTES", 10_000)
    for number in range(8):
        keep(tmp_path, f"{number:016x}", age=-number / 1000)
    assert len(kept(tmp_path)) in {3, 4}
    monkeypatch.setattr(database, "MOST_BYTES", 1)
    keep(tmp_path, "f" * 16, age=-1)
    assert kept(tmp_path) == ["f" * 16], "the last one stays"


@pytest.mark.parametrize("runs", [1, 4])
def test_where_the_database_cannot_be_written_old_logs_go(tmp_path, runs, caplog):
    keep(tmp_path, "0" * 16)
    with sqlite3.connect(tmp_path / "state" / DATABASE) as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    alive = keep(tmp_path, "a" * 16, ends="lives")
    for number in range(1, 9):
        keep(tmp_path, f"{number:016x}", runs=runs)
    assert len(logs_in(str(tmp_path / "state"))) <= runs + 1
    assert any(path.endswith(f"{'a' * 16}.log") for path in logs_in(str(tmp_path / "state")))
    assert "the journal keeps this run as" in caplog.text
    with pytest.raises(JournalError, match="later version"):
        kept(tmp_path)
    alive._log.close()
