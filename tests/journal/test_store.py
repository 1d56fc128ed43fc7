"""The journal as it is read: runs that ended, under way and killed; pruning, torn and damaged files."""

import errno
import os
import stat
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from messages import said

from asyncstate.errors import JournalError, PathRefused
from asyncstate.journal.entry import Header
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.log import ENDED, log_path, logs_in
from asyncstate.journal.store import Journal, tidy
from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted, RunFinished, RunStarted, encode_event
from asyncstate.plans.record import VERSION, PlanRecord, encode

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
def keep(settings):
    """Keep a run, to its end or only so many events; a killed one leaves its log as a dead process does."""
    alive = []

    def keep(run, *, events=None, plan=None, killed=False, about=None, **said):
        header = Header(run=run, host="here", plan=plan[0] if plan else "", about=about or {})
        keeper = Keeper(settings, header, (plan[0], lambda: [plan[1]]) if plan else None)
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


def written(settings, run):
    """The lines of the log of a run that has not ended, without the zeros behind them."""
    return Path(log_path(settings.state_dir, run)).read_bytes().rstrip(b"\0")


def test_a_journal_that_is_not_there_is_empty(journal, settings):
    assert journal().runs() == []
    assert not os.path.exists(settings.state_dir)
    with pytest.raises(JournalError, match="has no runs"):
        journal().find(None)


def test_a_run_that_ended_has_its_entry_its_events_and_its_plan(journal, keep, settings):
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


def test_a_run_under_way_is_listed_and_can_be_read(journal, keep, end_killed):
    keep("aa11", events=4)
    entry = journal().find()
    assert (entry.ending, entry.ended, entry.exit_code) == ("under way", None, None)
    assert list(journal().events("aa11")) == story("aa11")[:4]
    end_killed()
    assert journal().find().ending == "under way"


def test_a_killed_run_is_listed_before_and_after_its_log_is_ended(journal, keep, settings, end_killed):
    keep("aa11", events=4, killed=True, plan=("key", b"{}"))
    for _ in range(3):
        opened = journal()
        entry = opened.find("aa")
        assert (entry.ending, entry.ended, entry.exit_code) == ("killed", 4e9 + 0.5, None)
        assert (entry.counts["started"], entry.counts["changed"]) == (1, 1)
        assert list(opened.events("aa11")) == story("aa11")[:4]
        assert opened.plan_bytes("aa11") == b"{}"
        end_killed()
    assert logs_in(settings.state_dir) == []


def test_a_torn_log_counts_up_to_the_tear(journal, keep, settings, end_killed):
    keep("aa11", events=4, killed=True)
    path = log_path(settings.state_dir, "aa11")
    whole = written(settings, "aa11")
    lines = whole.split(b"\n")
    for length in range(len(whole)):
        with open(path, "wb") as file:
            file.write(whole[:length])
        seen = list(journal().events("aa11"))
        assert seen == story("aa11")[: max(0, whole[:length].count(b"\n") - 1)]
    with open(path, "wb") as file:
        file.write(b"\n".join(lines[:3]) + b"\n" + b"\0" * 4096)
    end_killed()
    assert list(journal().events("aa11")) == story("aa11")[:2]
    assert journal().find().ending == "killed"


def test_a_log_that_says_nothing_goes(journal, keep, settings, end_killed):
    keep("aa11", events=0, killed=True, plan=("key", b"{}"))
    assert journal().runs() == []
    end_killed()
    assert os.listdir(os.path.join(settings.state_dir, "journal")) == ["plans"]


def test_a_process_that_dies_between_the_last_line_and_the_last_name_loses_nothing(
    journal, keep, settings, monkeypatch, end_killed
):
    with monkeypatch.context() as patch:
        patch.setattr("asyncstate.journal.keeper.end_run", lambda *_: 1 / 0)
        patch.setattr("asyncstate.journal.keeper.tidy", lambda *_: None)
        keep("aa11")
    for _ in range(2):
        assert journal().find("aa11").ending == "finished"
        assert list(journal().events("aa11")) == story("aa11")
        end_killed()
    assert logs_in(settings.state_dir) == []


@pytest.mark.parametrize(("events", "ending"), [(None, "finished"), (4, "killed")])
def test_an_entry_that_is_longer_than_what_is_read_of_the_end_is_found(journal, keep, end_killed, events, ending):
    keep("aa11", events=events, killed=ending == "killed", about={"sls": ["web" * 10_000]})
    end_killed()
    entry = journal().find()
    assert (entry.ending, entry.counts["changed"], len(entry.about["sls"][0])) == (ending, 1, 30_000)


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
    plans = os.path.join(settings.state_dir, "journal", "plans")
    assert sorted(os.listdir(plans)) == ["new", "old"]
    assert len(journal().prune(10, 5.0)) == 1
    assert len(journal().prune(2, 5.0)) == 1
    assert [entry.id for entry in journal().runs()] == ["new2", "new1"]
    assert journal().plan_bytes("new1") == b"{}"
    assert os.listdir(plans) == ["new"]
    assert len(journal().prune(1, 0.0)) == 1
    assert [entry.id for entry in journal().runs()] == ["new2"]


@pytest.mark.parametrize(
    "case",
    [
        (9, 9.0, 1 << 30, {"bad"}),
        (2, 9.0, 1 << 30, {"bad", "run1", "run0"}),
        (9, 1.5, 1 << 30, {"bad", "run1", "run0"}),
        (9, 9.0, 0, {"run2", "bad", "run1", "run0"}),
    ],
)
def test_a_dry_run_of_prune_names_what_goes_then(journal, keep, settings, monkeypatch, case):
    keep_runs, keep_days, most_bytes, gone = case
    now = time.time()
    for days, run in enumerate(("run3", "run2", "bad", "run1", "run0")):
        keep(run, wall=now - days * 86400 * 0.6)
    bad = Path(settings.state_dir, "journal", "bad.ended")
    times = bad.stat()
    bad.write_bytes(b"rubbish")
    os.utime(bad, ns=(times.st_atime_ns, times.st_mtime_ns))
    monkeypatch.setattr("asyncstate.journal.store.MOST_BYTES", most_bytes)
    before = [entry.id for entry in journal().runs()]
    assert {entry.id for entry in journal().prune(keep_runs, keep_days, dry_run=True)} == gone
    assert [entry.id for entry in journal().runs()] == before
    assert {entry.id for entry in journal().prune(keep_runs, keep_days)} == gone
    assert [entry.id for entry in journal().runs()] == [run for run in before if run not in gone]


def test_runs_of_one_plan_share_its_record_which_is_made_once(keep, settings):
    for run in ("aa11", "bb22"):
        keep(run, plan=("key", b"{}"))
    made = []
    keeper = Keeper(settings, Header(run="cc33", plan="key"), ("key", lambda: made.append("again") or [b"{}"]))
    keeper.close()
    assert made == []
    folder = Path(settings.state_dir, "journal")
    assert folder.joinpath("aa11.plan").samefile(folder / "bb22.plan")
    assert folder.joinpath("aa11.plan").samefile(folder / "plans" / "key")


def test_where_there_are_no_links_each_run_has_a_record_of_its_own(journal, keep, settings, monkeypatch):
    def link(*_names):
        raise PermissionError(1, "no links on this file system")

    monkeypatch.setattr(os, "link", link)
    for number, run in enumerate(("aa11", "bb22")):
        keep(run, wall=4e9 + number, plan=("key", b"{}"))
        assert journal().plan_bytes(run) == b"{}"
    assert len(journal().prune(1, 1e9)) == 1
    assert journal().plan_bytes("bb22") == b"{}"
    assert len(os.listdir(os.path.join(settings.state_dir, "journal"))) == 3


def test_a_plan_that_a_run_takes_while_others_forget_it_stays(journal, keep, settings, monkeypatch):
    """The run that forgets the last one of a plan may look at the plan just before another run takes it."""
    keep("aa11", wall=4e9 - 1, plan=("key", b"{}"))
    keep("bb22", plan=("other", b"{}"))
    begun, unlink = [], os.unlink

    def slow(path, **options):
        if not begun and os.path.basename(path) == "key":
            begun.append(keep("cc33", events=3, plan=("key", b"{}")))
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", slow)
    assert len(journal().prune(1, 1e9)) == 1
    assert begun
    assert journal().plan_bytes("cc33") == b"{}"


BEGUN_ONLY = b'{"journal":1,"run":"bb22"}\n'


@pytest.mark.parametrize(
    "odd",
    [
        *((suffix, content, 1) for suffix in (".log", ENDED) for content in (b"rubbish", b"{}\n" * 3, b"\xff\n[\n")),
        *((ENDED, content, 1) for content in (b"", b"\0" * 99)),
        (ENDED, BEGUN_ONLY, 2),
        (".log", BEGUN_ONLY + b'{"record":"x"}\n{"event":"chunk_ready","run_id":1}\n', 3),
        (".log", BEGUN_ONLY, 0),
        *((".log", content, 0) for content in (b"", b"\0" * 99)),
    ],
)
def test_a_damaged_log_hides_no_run_and_names_its_own(journal, keep, settings, odd, end_killed):
    """A dead log without a first event says nothing, and goes; in all others something is lost."""
    suffix, content, line = odd
    keep("aa11", wall=1e9)
    path = Path(settings.state_dir, "journal", f"bb22{suffix}")
    path.write_bytes(content)
    for _ in range(2):
        assert [entry.id for entry in journal().runs()] == ["bb22", "aa11"][not line :]
        if line:
            assert journal().runs()[0].ending == f"damaged: line {line}"
            for reads in (journal().find, lambda: journal().find("bb", real=True), lambda: [*journal().events("bb22")]):
                with pytest.raises(
                    JournalError, match=rf"journal of run bb22 is damaged, line {line}, so .*runs prune"
                ):
                    reads()
        assert journal().find("aa11").ending == "finished"
        end_killed()
        assert list(journal().events("aa11")) == story("aa11", wall=1e9)
    assert path.exists() is bool(line)
    assert len(journal().prune(9, 1e9)) == bool(line)
    assert [entry.id for entry in journal().runs()] == ["aa11"]
    assert not path.exists()


def test_no_damage_makes_a_run_disappear(journal, keep, settings):
    """Wherever a log is cut or overwritten, the run is listed; it is read as before, or the error names it."""
    keep("aa11")
    path = Path(settings.state_dir, "journal", f"aa11{ENDED}")
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        for content in (whole[:place], b"\xff" * place + whole[place:], whole[:place] + b"\n#" + whole[place:]):
            path.write_bytes(content)
            assert [entry.id for entry in journal().runs()] == ["aa11"]
            if journal().runs()[0].ending.startswith("damaged: line "):
                with pytest.raises(JournalError, match="the journal of run aa11 is damaged, line "):
                    journal().find()
            else:
                assert journal().find().digest == "d"


def test_an_ended_log_that_is_cut_after_a_line_is_no_killed_run(journal, keep, settings):
    keep("aa11")
    path = Path(settings.state_dir, "journal", f"aa11{ENDED}")
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in range(2, len(lines)):
        path.write_bytes(b"".join(lines[:kept]))
        has_finish = any(b'"run_finished"' in line for line in lines[:kept])
        assert journal().runs()[0].ending == ("finished" if has_finish else f"damaged: line {kept + 1}")
    assert kept >= 5


@pytest.mark.parametrize("suffix", [".log", ENDED])
def test_a_log_that_cannot_be_read_is_listed_and_no_older_one_is_taken_for_it(
    journal, keep, settings, monkeypatch, suffix
):
    keep("aa11", wall=1e9)
    path = Path(settings.state_dir, "journal", f"bb22{suffix}")
    path.write_bytes(b"{}")

    def refused(name, mode="r", **how):
        if name == str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open(name, mode, **how)

    monkeypatch.setattr("asyncstate.journal.store.open", refused, raising=False)
    assert [(entry.id, entry.ending) for entry in journal().runs()] == [
        ("bb22", "unreadable: Input/output error"), ("aa11", "finished"),
    ]  # fmt: skip
    for reads in (journal().find, lambda: journal().find("bb", real=True), lambda: [*journal().events("bb22")]):
        with pytest.raises(
            JournalError, match=r"journal of run bb22 cannot be read \(Input/output error\), so its results"
        ):
            reads()
    assert journal().find("aa11").ending == "finished"
    assert len(journal().prune(9, 1e9)) == 0
    assert path.exists()


def test_what_is_no_folder_is_no_journal(journal, keep, settings):
    os.mkdir(settings.state_dir)
    place = Path(settings.state_dir, "journal")
    place.write_text("x")
    for use in (lambda: journal().runs(), lambda: keep("aa11")):
        with pytest.raises(JournalError, match=said("journal-no-folder", path=place)):
            use()
    place.unlink()
    keep("aa11")
    place.chmod(0o777)
    if not os.getuid():
        with pytest.raises(PathRefused, match=str(place)):
            journal()


def make_endless(path):
    """Make a device that can be read without end."""
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError as error:
        pytest.skip(f"only root makes devices: {error}")


@pytest.mark.parametrize("suffix", [".log", ENDED, ".plan"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, make_endless, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_regular_file_is_no_log(keep, settings, suffix, make, caplog):
    keep("aa11")
    path = os.path.join(settings.state_dir, "journal", f"bb22{suffix}")
    make(path)
    assert [entry.id for entry in Journal.open(settings.state_dir).runs()] == ["aa11"]
    assert (said("log-unreadable", path=path) in caplog.text) is (suffix != ".plan")
    keep("cc33", wall=4e9 + 1)
    assert Journal.open(settings.state_dir).find().id == "cc33"


@pytest.mark.parametrize("end", [b"", b"{", b"\n"])
@pytest.mark.parametrize("suffix", [".log", ENDED, ".plan"])
def test_a_file_of_the_journal_without_an_end_takes_no_memory(keep, settings, suffix, end):
    keep("aa11", plan=("key", b"{}"), killed=suffix == ".log")
    path = Path(settings.state_dir, "journal", f"aa11{suffix}")
    with path.open("ab") as file:
        file.write(end)
        file.truncate(1 << 40)
    tracemalloc.start()
    journal = Journal.open(settings.state_dir)
    with suppress(JournalError):
        journal.find("aa11")
    with suppress(JournalError):
        list(journal.events("aa11"))
    with suppress(JournalError):
        journal.plan("aa11")
    tidy(settings.state_dir, 10, 10**6)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_run_has_a_plan_that_is_too_large_for_a_plan_file(journal, keep, monkeypatch):
    record = PlanRecord(version=VERSION, program="x" * 200)
    keep("aa11", plan=("key", encode(record)))
    monkeypatch.setattr("asyncstate.plans.record.LARGEST", 100)
    assert journal().plan("aa11") == record


def test_an_ended_log_that_is_damaged_names_the_line(journal, keep, settings):
    keep("aa11")
    path = Path(settings.state_dir, "journal", f"aa11{ENDED}")
    path.write_bytes(path.read_bytes().replace(b'{"event":"chunk_st', b'"event":"chunk_st'))
    with pytest.raises(JournalError, match="the journal of run aa11 is damaged, line 4: "):
        list(journal().events("aa11"))
    assert journal().find().ending == "finished"


def test_a_run_that_ends_or_is_forgotten_while_it_is_read(journal, keep, settings):
    keeper = keep("aa11", events=4)
    opened = journal()
    assert opened.find().ending == "under way"
    keeper.on_event(story("aa11")[4])
    keeper.close()
    assert list(opened.events("aa11")) == story("aa11")
    os.unlink(os.path.join(settings.state_dir, "journal", f"aa11{ENDED}"))
    with pytest.raises(JournalError, match="has no run aa11 any longer"):
        list(opened.events("aa11"))


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
    os.truncate(path, len(written(settings, "aa11")))
    with open(path, "ab") as file:
        file.write(b'{"event":"of_tomorrow"}\n' + encode_event(story("aa11")[4]) + b"\n")
    assert list(journal().events("aa11")) == story("aa11")
