"""Runs in the journal: of the library and of the command line, where it cannot be kept, and where it fails midway."""

import json
import os
from pathlib import Path

import pytest
from messages import said

from asyncstate import Settings, StateRuntime
from asyncstate.errors import JournalError
from asyncstate.journal.log import logs_in
from asyncstate.journal.store import Journal
from asyncstate.model.event import ChunkFinished, RunFinished

TREE = {"a": {"test.succeed_with_changes": []}, "b": {"test.fail_without_changes": [{"require": [{"test": "a"}]}]}}


@pytest.fixture
def settings(tmp_path):
    return Settings(state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True)


async def run(settings, *, data=TREE, **options):
    seen = []
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data(data)
        async with runtime.run(plan, observers=[seen.append], events=False, **options) as run:
            pass
    return run.report, seen


async def test_a_run_of_the_library_is_kept_as_its_observers_saw_it(settings):
    report, seen = await run(settings, about={"sls": ["web"]})
    journal = Journal.open(settings.state_dir)
    entry = journal.find(report.run_id)
    assert list(journal.events(entry.id)) == seen
    assert (entry.ending, entry.exit_code, entry.counts["failed"], entry.about) == ("finished", 2, 1, {"sls": ["web"]})
    assert report.notices == ()


async def test_a_dry_run_is_kept_and_marked(settings):
    await run(settings, test=True)
    assert Journal.open(settings.state_dir).find().test


async def test_a_mocked_run_is_not_kept(settings, tmp_path):
    await run(settings, mock=True)
    assert not tmp_path.joinpath("state").exists()


async def test_a_result_is_in_the_journal_before_it_is_shown(settings):
    journaled = []

    def look(event):
        if isinstance(event, ChunkFinished):
            (path,) = logs_in(settings.state_dir)
            journaled.append(f'"seq":{event.seq},' in Path(path).read_text())

    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data(TREE)
        async with runtime.run(plan, observers=[look], events=False):
            pass
    assert journaled == [True, True]


async def test_without_a_journal_nothing_is_written(settings, tmp_path):
    settings.journal = "off"
    await run(settings)
    assert not tmp_path.joinpath("state").exists()


async def test_where_it_cannot_be_kept_the_report_says_so(settings, tmp_path):
    (tmp_path / "state").write_text("a file")
    report, seen = await run(settings)
    assert len(report.rows) == 2
    (notice,) = report.notices
    assert notice.startswith(said("journal-unkept", why=""))
    assert str(tmp_path / "state") in notice
    assert notice in seen[-1].warnings


async def test_where_it_is_required_and_cannot_be_kept_nothing_starts(settings, tmp_path):
    (tmp_path / "state").write_text("a file")
    settings.journal = "required"
    with pytest.raises(JournalError, match=said("journal-required")):
        await run(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root trusts nobody else")
async def test_root_keeps_no_journal_where_another_user_could_change_it(settings, tmp_path):
    os.mkdir(tmp_path / "state")
    os.chown(tmp_path / "state", 12345, -1)
    report, _ = await run(settings)
    assert "can change it" in report.notices[0]
    assert os.listdir(tmp_path / "state") == []


@pytest.fixture
def full_disk(monkeypatch):
    """Let writes to the logs of runs fail as on a full disk, after so many."""
    from asyncstate.journal import log

    class Disk:
        room = 10**9

        def write(self, file, data, place):
            if self.room <= 0:
                raise OSError(28, "No space left on device")
            self.room -= 1
            part = bytes(data)[: max(1, len(data) // 2)] if self.room == 0 else data
            return os.pwrite(file, part, place)

    disk = Disk()
    real = log.os

    class System:
        def __getattr__(self, name):
            return getattr(real, name)

        def pwrite(self, file, data, place):
            return disk.write(file, data, place)

        def posix_fallocate(self, file, place, size):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "os", System())
    return disk


async def test_a_full_disk_ends_the_journal_not_the_run(settings, full_disk):
    full_disk.room = 3
    report, _ = await run(settings)
    assert [row["result"] for row in report.rows.values()] == [True, False]
    assert "No space left on device" in report.notices[0]
    assert Journal.open(settings.state_dir).find().ending == "killed"


async def test_when_there_is_room_again_nothing_is_missing(settings, full_disk):
    full_disk.room = 3

    def free(event):
        if isinstance(event, RunFinished):
            full_disk.room = 10**9

    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data(TREE)
        seen = []
        async with runtime.run(plan, observers=[free, seen.append], events=False):
            pass
    journal = Journal.open(settings.state_dir)
    assert list(journal.events(journal.find().id)) == seen
    assert logs_in(settings.state_dir) == []


async def test_a_required_journal_that_fails_midway_stops_the_run(settings, full_disk):
    settings.journal = "required"
    full_disk.room = 4  # its header, the start of the run and of a state, and half a row
    report, _ = await run(settings)
    assert report.cancelled == said("journal-full", why="No space left on device")
    assert report.exit_code == 125
    assert len(report.not_started) == 1


def test_the_command_line_keeps_its_runs(run_here, tmp_path):
    (tmp_path / "web.sls").write_text("a:\n  test.succeed_with_changes: []\n")
    done = run_here("apply", "web", "--file-root", tmp_path, "--out", "jsonl")
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    journal = Journal.open(str(tmp_path / "state"))
    assert [event.seq for event in journal.events(lines[0]["run_id"])] == [line["seq"] for line in lines]
    assert journal.find().about["sls"] == ["web"]
