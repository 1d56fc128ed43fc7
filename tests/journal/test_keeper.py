"""A keeper that cannot be made leaves nothing, and one that is closed writes nothing."""

import errno
import os
import threading

import pytest
from messages import said

from asyncstate.journal.entry import Header
from asyncstate.journal.keeper import Keeper
from asyncstate.journal.log import logs_in
from asyncstate.model.event import RunFinished, RunStarted


def broken_plan():
    yield b'{"version":1'
    raise ValueError("a plan that cannot be recorded")


def test_a_plan_that_cannot_be_recorded_leaves_no_log_no_lock_and_no_thread(settings):
    before = threading.active_count()
    with pytest.raises(ValueError, match="cannot be recorded"):
        Keeper(settings, Header(run="aa11", plan="k"), ("k", broken_plan))
    assert not logs_in(settings.state_dir)
    assert threading.active_count() == before


def test_a_plan_for_which_there_is_no_room_leaves_no_log(settings, monkeypatch, no_room):
    monkeypatch.setattr(os, "fdatasync", no_room)
    with pytest.raises(OSError, match="No space"):
        Keeper(settings, Header(run="aa11", plan="k"), ("k", lambda: [b"x" * (1 << 20)] * 4))
    assert os.listdir(os.path.join(settings.state_dir, "journal")) == []


def test_closing_twice_is_closing_once(settings, journal):
    keeper = Keeper(settings, Header(run="aa11"))
    keeper.close()
    keeper.close()
    keeper.record(Header(run="late"))
    assert not logs_in(settings.state_dir)
    assert journal().runs() == []


def begin(settings, run):
    keeper = Keeper(settings, Header(run=run, plan="k"), ("k", lambda: [b"{}"]))
    keeper.on_event(RunStarted(run_id=run, seq=0, time=0.0, wall=1.0, digest="d", chunks=1, concurrency=1, test=False))
    return keeper


def test_a_run_that_is_abandoned_is_one_that_was_killed(settings, journal):
    begin(settings, "aa11").close()
    assert [entry.ending for entry in journal().runs()] == ["killed"]
    assert not logs_in(settings.state_dir)


def test_a_killed_run_whose_entry_has_no_room_keeps_its_log(  # noqa: PLR0917 - fixtures
    settings, journal, end_killed, no_room, caplog, monkeypatch
):
    begin(settings, "aa11")._log.close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", no_room)
        end_killed()
    assert said("log-stays") + ": [Errno 28] No space" in caplog.text
    assert len(logs_in(settings.state_dir)) == 1
    for _ in range(2):
        assert [entry.ending for entry in journal().runs()] == ["killed"]
        end_killed()
    assert not logs_in(settings.state_dir)


@pytest.mark.parametrize("step", ["end_line", "end_run", "tidy"])
@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EIO, "Input/output error"), ValueError("odd")])
def test_whatever_goes_wrong_at_the_end_costs_the_entry_only(  # noqa: PLR0917 - fixtures
    settings, journal, end_killed, monkeypatch, caplog, error, step
):
    def fails(*_args, **_options):
        raise error

    keeper = begin(settings, "aa11")
    keeper.on_event(RunFinished(run_id="aa11", seq=1, time=1.0, exit_code=0, succeeded=0, changed=0, failed=0))
    with monkeypatch.context() as patch:
        patch.setattr(f"asyncstate.journal.keeper.{step}", fails)
        keeper.close()
    assert said("entry-left") in caplog.text
    end_killed()
    assert [entry.ending for entry in journal().runs()] == ["finished"]
