"""The journal as it is read: runs in the database, under way and killed; takeover, pruning, torn files."""

import os
import stat
import time
from pathlib import Path

import msgspec
import pytest

from asyncstate.config import Settings
from asyncstate.errors import JournalError
from asyncstate.journal.entry import Header
from asyncstate.journal.folder import DATABASE, log_path, logs_in
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.log import read_log
from asyncstate.journal.store import Journal
from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted, RunFinished, RunStarted, encode_event

ROW = {"name": "n", "result": True, "changes": {"a": 1}, "comment": "", "start_time": "", "duration": 1.0}


def story(run, wall=4e9, *, failed=0, cancelled="", not_started=()):
    return [
        RunStarted(run_id=run, seq=0, time=0.0, wall=wall, digest="d", chunks=2, concurrency=4, test=False),
        ChunkReady(run_id=run, seq=1, time=0.1, tag="t"),
        ChunkStarted(run_id=run, seq=2, time=0.2, tag="t", function="test.nop", id="a", name="n", sls="s"),
        ChunkFinished(run_id=run, seq=3, time=0.5, tag="t", row=ROW, why="met"),
        RunFinished(
            run_id=run,
            seq=4,
            time=2.0,
            exit_code=2 if failed else 0,
            succeeded=1,
            changed=1,
            failed=failed,
            cancelled=cancelled,
            not_started=not_started,
        ),
    ]


@pytest.fixture
def settings(tmp_path):
    return Settings(state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True)


@pytest.fixture
def keep(settings):
    """Keep a run, to its end or only so many events; a killed one leaves its log as a dead process does."""
    alive = []

    def keep(run, *, events=None, plan=None, killed=False, **said):
        keeper = Keeper(
            settings,
            Header(run=run, host="here", plan="" if plan is None else plan[0]),
            None if plan is None else (plan[0], [plan[1]]),
        )
        for event in story(run, **said)[:events]:
            keeper.on_event(event)
        if events is None:
            keeper.close()
        elif killed:
            keeper._log.close()
        else:
            alive.append(keeper)
        return keeper

    yield keep
    for keeper in alive:
        keeper.close()


@pytest.fixture
def journal(settings):
    opened = []

    def journal(*, write=False):
        opened.append(Journal.open(settings.state_dir, write=write))
        return opened[-1]

    yield journal
    for each in opened:
        each.close()


def test_a_journal_that_is_not_there_is_empty(journal, settings):
    assert journal().runs() == journal(write=True).runs() == []
    assert not os.path.exists(settings.state_dir)
    with pytest.raises(JournalError, match="has no runs"):
        journal().find(None)


def test_a_run_that_ended_is_in_the_database_with_its_events_and_plan(journal, keep, settings):
    keep("aa11", plan=("key", b'{"a":1}'))
    entry = journal().find("aa11")
    assert (entry.ending, entry.exit_code, entry.host, entry.concurrency) == ("finished", 0, "here", 4)
    assert (entry.begun, entry.ended) == (4e9, 4e9 + 2)
    others = {"failed": 0, "held_back": 0, "not_started": 0}
    assert entry.counts == {"chunks": 2, "started": 2, "succeeded": 1, "changed": 1, **others}
    assert list(journal().events("aa11")) == story("aa11")
    assert journal().plan_bytes("aa11") == b'{"a":1}'
    assert logs_in(settings.state_dir) == []


def test_all_files_are_private(keep, settings):
    keep("aa11")
    keep("bb22", events=3)
    for folder, _, names in os.walk(settings.state_dir):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600, name


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ({}, "finished"),
        ({"failed": 1}, "finished"),
        ({"failed": 1, "not_started": ("u",)}, "failhard"),
        ({"cancelled": "SIGINT", "not_started": ("u",)}, "cancelled: SIGINT"),
    ],
)
def test_the_ending_of_a_run(journal, keep, said, ending):
    keep("aa11", **said)
    assert journal().find().ending == ending


def test_a_run_under_way_is_listed_and_can_be_read(journal, keep):
    keep("aa11", events=4)
    entry = journal().find()
    assert (entry.ending, entry.ended, entry.exit_code) == ("under way", None, None)
    assert list(journal().events("aa11")) == story("aa11")[:4]
    journal(write=True)
    assert journal().find().ending == "under way"


def test_a_killed_run_is_listed_before_and_after_it_is_taken_over(journal, keep, settings):
    keep("aa11", events=4, killed=True, plan=("key", b"{}"))
    for write in (False, True, False):
        opened = journal(write=write)
        entry = opened.find("aa")
        assert (entry.ending, entry.ended, entry.exit_code) == ("killed", 4e9 + 0.5, None)
        assert (entry.counts["started"], entry.counts["changed"]) == (1, 1)
        assert list(opened.events("aa11")) == story("aa11")[:4]
        assert opened.plan_bytes("aa11") == b"{}"
    assert logs_in(settings.state_dir) == []


def test_the_next_run_takes_over_what_a_killed_one_left(journal, keep, settings):
    keep("aa11", events=4, killed=True)
    keep("bb22", wall=4e9 + 1000)
    assert logs_in(settings.state_dir) == []
    assert [entry.id for entry in journal().runs()] == ["bb22", "aa11"]


def test_a_torn_log_counts_up_to_the_tear(journal, keep, settings):
    keep("aa11", events=4, killed=True)
    path = log_path(settings.state_dir, "aa11")
    whole, _ = read_log(path)
    lines = whole.split(b"\n")
    for length in range(len(whole)):
        with open(path, "wb") as file:
            file.write(whole[:length])
        seen = list(journal().events("aa11"))
        assert seen == story("aa11")[: max(0, whole[:length].count(b"\n") - 1)]
    with open(path, "wb") as file:
        file.write(b"\n".join(lines[:3]) + b"\n" + b"\0" * 4096)
    assert list(journal(write=True).events("aa11")) == story("aa11")[:2]


def test_a_log_that_says_nothing_goes(journal, keep, settings):
    keep("aa11", events=0, killed=True)
    assert journal(write=True).runs() == []
    assert logs_in(settings.state_dir) == []


def test_a_log_that_was_taken_over_but_not_removed_counts_once(journal, keep, settings):
    keep("aa11", events=4, killed=True)
    data = Path(log_path(settings.state_dir, "aa11")).read_bytes()
    journal(write=True)
    with open(log_path(settings.state_dir, "aa11"), "wb") as file:
        file.write(data)
    opened = journal(write=True)
    assert [entry.id for entry in opened.runs()] == ["aa11"]
    assert list(opened.events("aa11")) == story("aa11")[:4]


def test_a_run_is_found_by_the_beginning_of_its_id(journal, keep):
    for number, run in enumerate(("aa11", "aa22", "bb33")):
        keep(run, wall=4e9 + number)
    assert journal().find(None).id == journal().find("b").id == "bb33"
    with pytest.raises(JournalError, match="several runs begin with 'aa': aa22, aa11"):
        journal().find("aa")
    with pytest.raises(JournalError, match=r"no run 'bb34'\. The last one is bb33; asyncstate runs list has all"):
        journal().find("bb34")
    keep("2643036907d3e9d1", wall=4e9 + 9)
    with pytest.raises(JournalError, match=r"no run '2643036908'\. Did you mean '2643036907d3e9d1'"):
        journal().find("2643036908")


def test_old_runs_and_plans_that_none_has_are_forgotten(journal, keep, settings):
    now = time.time()
    keep("old1", wall=now - 10 * 86400, plan=("old", b"{}"))
    for number in range(3):
        keep(f"new{number}", wall=now + number, plan=("new", b"{}"))
    assert journal(write=True).prune(10, 5.0) == 1
    assert journal(write=True).prune(2, 5.0) == 1
    assert [entry.id for entry in journal().runs()] == ["new2", "new1"]
    assert journal().plan_bytes("new1") == b"{}"
    assert journal()._database.plan("old") is None
    assert journal(write=True).prune(1, 0.0) == 2 or [entry.id for entry in journal().runs()] == ["new2"]


def test_the_settings_bound_the_journal(journal, keep, settings):
    settings.journal_keep_runs = 2
    now = time.time()
    for number in range(4):
        keep(f"run{number}", wall=now + number)
    assert [entry.id for entry in journal().runs()] == ["run3", "run2"]


def test_the_log_of_a_write_ahead_log_may_be_torn(journal, keep, settings):
    keep("aa11")
    other = journal(write=True)  # keeps the write-ahead log from being folded in
    keep("bb22", wall=4e9 + 1000)
    wal = os.path.join(settings.state_dir, f"{DATABASE}-wal")
    data = Path(wal).read_bytes()
    assert data
    copy = f"{settings.state_dir}-copy"
    for length in range(0, len(data), 997):
        os.makedirs(copy, mode=0o700, exist_ok=True)
        with open(f"{copy}/{DATABASE}", "wb") as file:
            file.write(Path(os.path.join(settings.state_dir, DATABASE)).read_bytes())
        with open(f"{copy}/{DATABASE}-wal", "wb") as file:
            file.write(data[:length])
        found = Journal.open(copy, write=True)
        assert {entry.id for entry in found.runs()} <= {"aa11", "bb22"}
        found.close()
        for name in os.listdir(copy):
            os.unlink(f"{copy}/{name}")
    assert len(other.runs()) >= 1


def test_a_broken_database_is_moved_aside(journal, keep, settings, caplog):
    keep("aa11")
    with open(os.path.join(settings.state_dir, DATABASE), "wb") as file:
        file.write(b"no database" * 1000)
    with pytest.raises(JournalError, match=r"journal\.db: file is not a database"):
        journal()
    keep("bb22")
    assert [entry.id for entry in journal().runs()] == ["bb22"]
    assert [name for name in os.listdir(settings.state_dir) if "broken" in name]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET entry = 5",
        "UPDATE runs SET entry = CAST('{}' AS BLOB)",
        "UPDATE runs SET entry = CAST('[1' AS BLOB)",
        "UPDATE events SET lines = 'text'",
        "UPDATE plans SET plan = 'text'",
        "UPDATE runs SET begun = 'soon'",
        "UPDATE runs SET bytes = 'many'",
    ],
)
def test_a_value_of_another_type_is_damage(journal, keep, damage):
    keep("aa11")
    opened = journal(write=True)
    opened._database._connection.execute("INSERT INTO plans VALUES ('k', X'00')")
    opened._database._connection.execute(damage)

    def read_all():
        assert opened.runs()
        assert list(opened._database.lines("aa11"))
        assert opened._database.plan("k")
        opened._database.prune(1, 0.0)

    with pytest.raises(JournalError, match=r"journal\.db is damaged: .*\. Move it away to begin a new journal"):
        read_all()
    opened.close()


def test_a_pipe_in_the_place_of_the_database_is_refused(journal, keep, settings):
    keep("aa11")
    path = os.path.join(settings.state_dir, DATABASE)
    os.unlink(path)
    os.mkfifo(path)
    with pytest.raises(JournalError, match=r"journal\.db: it is not a regular file"):
        journal()


def test_a_database_of_a_later_version_is_left_alone(journal, keep, settings):
    keep("aa11")
    opened = journal(write=True)
    opened._database._connection.execute("PRAGMA user_version = 99")
    opened.close()
    with pytest.raises(JournalError, match="later version"):
        journal()
    keep("bb22")
    assert len(logs_in(settings.state_dir)) == 1


def test_an_event_that_is_no_plain_data_is_kept(journal, settings):
    keeper = Keeper(settings, Header(run="aa11"))
    events = story("aa11")
    odd = msgspec.structs.replace(events[2], name=7)
    surrogate = msgspec.structs.replace(events[3], row={**ROW, "comment": "\udc80"})
    for event in (events[0], odd, surrogate):
        keeper.on_event(event)
    keeper.close()
    found = list(journal().events("aa11"))
    assert found[1].name == "7"
    assert found[2].row["comment"] == "\\udc80"


def test_events_of_other_versions_are_passed_over(journal, keep, settings):
    keep("aa11", events=4, killed=True)
    path = log_path(settings.state_dir, "aa11")
    os.truncate(path, len(read_log(path)[0]))
    with open(path, "ab") as file:
        file.write(b'{"event":"of_tomorrow"}\n' + encode_event(story("aa11")[4]) + b"\n")
    assert list(journal().events("aa11")) == story("aa11")
