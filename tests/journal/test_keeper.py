"""A keeper that cannot be made leaves nothing, and one that is closed writes nothing."""

import errno
import os
import threading

import pytest

from asyncstate.config import Settings
from asyncstate.journal.entry import Header
from asyncstate.journal.folder import logs_in
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.store import Journal


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
