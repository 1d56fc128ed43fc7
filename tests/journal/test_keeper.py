"""A keeper that cannot be made leaves nothing, and one that is closed writes nothing."""

import errno
import os
import threading

import pytest

from asyncstate.config import Settings
from asyncstate.journal.database import Database
from asyncstate.journal.entry import Header
from asyncstate.journal.folder import logs_in
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.store import Journal
from asyncstate.model.event import RunStarted


@pytest.fixture
def settings(tmp_path):
    return Settings(state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True)


def broken_plan():
    yield b'{"version":1'
    raise ValueError("a plan that cannot be recorded")


def test_a_plan_that_cannot_be_recorded_leaves_no_log_no_lock_and_no_thread(settings):
    before = threading.active_count()
    with pytest.raises(ValueError, match="cannot be recorded"):
        Keeper(settings, Header(run="aa11", plan="k"), ("k", broken_plan()))
    assert not logs_in(settings.state_dir)
    assert threading.active_count() == before


def test_a_plan_for_which_there_is_no_room_leaves_no_log(settings, monkeypatch):
    real, room = os.pwrite, [2]

    def pwrite(*given):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(OSError, match="No space"):
        Keeper(settings, Header(run="aa11", plan="k"), ("k", [b"x" * (1 << 20)] * 4))
    assert not logs_in(settings.state_dir)


def test_closing_twice_is_closing_once(settings):
    keeper = Keeper(settings, Header(run="aa11"))
    keeper.close()
    keeper.close()
    keeper.record(Header(run="late"))
    assert not logs_in(settings.state_dir)
    assert Journal.open(settings.state_dir, write=False).runs() == []


@pytest.fixture
def full_database(monkeypatch):
    """The file of a new database has room for its tables only."""
    connected = Database._connected

    def small(self, mode):
        found = connected(self, mode)
        found.execute("PRAGMA max_page_count = 30")
        return found

    monkeypatch.setattr(Database, "_connected", small)


@pytest.mark.parametrize("size", [1000, 1 << 20, 5 << 20])
def test_a_database_without_room_costs_neither_the_run_nor_its_log(settings, full_database, caplog, monkeypatch, size):
    keeper = Keeper(settings, Header(run="aa11", plan="k"), ("k", [b"{}"]))
    keeper.on_event(
        RunStarted(run_id="aa11", seq=0, time=0.0, wall=1.0, digest="d", chunks=1, concurrency=1, test=False)
    )
    keeper.record({"filler": "x" * 1000 * 1000}, *({"filler": "x" * 1000} for _ in range(size // 1000)))
    keeper.close()
    assert "the journal keeps this run as" in caplog.text
    assert "full" in caplog.text
    monkeypatch.undo()
    (kept,) = Journal.open(settings.state_dir, write=False).runs()
    assert kept.id == "aa11"


@pytest.mark.parametrize("error", [MemoryError(), ImportError("libsqlite3.so.0: failed to map segment"), BufferError()])
def test_whatever_goes_wrong_while_the_ended_run_is_archived_costs_the_archive_only(
    settings, monkeypatch, caplog, error
):
    def fails(*_args, **_options):
        raise error

    monkeypatch.setattr("asyncstate.journal.keeper.archive", fails)
    keeper = Keeper(settings, Header(run="aa11", plan="k"))
    keeper.close()
    assert "the journal keeps this run as" in caplog.text
    assert logs_in(settings.state_dir)
