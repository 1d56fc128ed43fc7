from __future__ import annotations

import asyncio
import threading

import pytest

from asyncstate.dunders import editing
from asyncstate.dunders.cancel import CancelToken
from asyncstate.dunders.context import CallContext, SharedContext, current
from asyncstate.errors import LoaderError, RunCancelled


def context(**more):
    made = CallContext(
        opts={"test": False},
        grains={},
        pillar={},
        context=SharedContext(threading.RLock()),
        salt={},
        states={},
        utils={},
    )
    return made.derive(**more)


def placed(call, file, entries, key):
    token = current.set(call)
    try:
        with editing(file) as edit:
            return edit.place(entries, key)
    finally:
        current.reset(token)


def test_a_new_entry_goes_before_those_that_later_states_of_the_run_have_added(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    run = {}
    assert placed(context(rank=5, additions=run), str(tmp_path / "file"), ["old"], "five") == 1
    assert placed(context(rank=3, additions=run), str(tmp_path / "link"), ["old", "five"], "three") == 1
    assert placed(context(rank=9, additions=run), str(tmp_path / "file"), ["old", "three", "five"], "nine") == 3


def test_another_run_and_another_file_know_nothing_of_it():
    run = {}
    assert placed(context(rank=5, additions=run), "cron:a", [], "k") == 0
    assert placed(context(rank=3, additions=run), "cron:b", ["k"], "l") == 1
    assert placed(context(rank=3, additions={}), "cron:a", ["k"], "l") == 1


def test_outside_a_run_a_new_entry_goes_to_the_end():
    assert placed(context(), "f", ["a", "b"], "c") == 2
    with editing("f") as edit:
        assert edit.place(["a"], "b") == 1


def test_one_call_at_a_time_changes_a_file():
    count = []

    def add():
        for _ in range(50):
            with editing("/x/f"):
                now = len(count)
                count.append(now)
                assert len(count) == now + 1

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == list(range(400))


def test_a_call_may_hold_a_file_twice_and_others_meanwhile_another():
    with editing("/x/f"), editing("/x/f"), editing("/x/g"):
        pass


def test_a_call_that_fails_leaves_the_file_free():
    with pytest.raises(ValueError, match="no"), editing("/x/f"):
        raise ValueError("no")
    done = []
    thread = threading.Thread(target=lambda: done.append(placed(context(), "/x/f", [], "k")))
    thread.start()
    thread.join()
    assert done == [0]


def test_a_call_that_waits_can_be_cancelled():
    token = CancelToken()
    ended = []

    def wait():
        current.set(context(cancel=token))
        try:
            with editing("/x/f"):
                ended.append("held")
        except RunCancelled as error:
            ended.append(str(error))

    with editing("/x/f"):
        thread = threading.Thread(target=wait)
        thread.start()
        token.cancel("time is up")
        thread.join(5)
        assert ended == ["time is up"]


def test_the_event_loop_does_not_wait_for_a_file():
    async def change():
        with editing("/x/f"):
            pass

    with pytest.raises(LoaderError, match="plain function"):
        asyncio.run(change())
