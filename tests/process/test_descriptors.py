"""What this process may not have at once waits, in place of failing."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from asyncstate.dunders.cancel import CancelToken
from asyncstate.errors import RunCancelled
from asyncstate.process import child, descriptors
from asyncstate.process.descriptors import OF_A_STATE, RESERVE, TO_START, WATCHED, Room, places


def test_places_are_those_wanted_where_there_is_room(monkeypatch):
    monkeypatch.setattr(descriptors, "limit", lambda: 1 << 20)
    assert places(1000) == 1000


@pytest.mark.parametrize(("limit", "most"), [(64, 20), (30, 3), (10, 1), (0, 1)])
def test_places_are_few_where_few_descriptors_are_left(monkeypatch, limit, most):
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    assert 1 <= places(200) <= most
    assert places(1) == 1


def test_the_first_program_always_starts():
    room = Room(lambda: 0)
    with room.place(None) as place:
        assert place.start(lambda: 1) == 1


def test_a_program_waits_until_another_one_has_ended():
    room = Room(lambda: 0)
    entered, order = threading.Event(), []

    def second():
        entered.set()
        with room.place(None) as place:
            place.start(lambda: order.append("second"))

    with room.place(None) as place:
        place.start(lambda: order.append("first"))
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        order.append("first ended")
    thread.join()
    assert order == ["first", "first ended", "second"]


def test_as_many_start_as_there_are_descriptors_for():
    used = len(os.listdir("/proc/self/fd"))
    room = Room(lambda: used + 1 + RESERVE + 2 * TO_START)
    with room.place(None), room.place(None):
        assert not room._fits()
    with room.place(None) as one:
        one.start(lambda: None)
        with room.place(None):
            assert room._fits()  # the first has what it needs, so only the second is counted as starting


def test_a_program_takes_two_descriptors_where_there_are_few(monkeypatch):
    """More programs run at once, then, and their ends are noticed all the same."""

    def taken(limit):
        monkeypatch.setattr(child, "room", Room(lambda: limit))
        before = len(os.listdir("/proc/self/fd"))
        held = []
        monkeypatch.setattr(child, "belong", lambda *_: held.append(None))
        listen = child._Child.listen

        def counted(self, deadline):
            held[-1] = len(os.listdir("/proc/self/fd")) - before
            return listen(self, deadline)

        monkeypatch.setattr(child._Child, "listen", counted)
        assert child.run_child(["sh", "-c", "echo out; echo err >&2; exit 3"])[1:4] == (3, b"out\n", b"err\n")
        monkeypatch.setattr(child._Child, "listen", listen)
        return held[0]

    assert taken(64) == OF_A_STATE
    assert taken(1 << 20) == WATCHED


def test_who_waits_can_be_cancelled():
    room = Room(lambda: 0)
    token = CancelToken()
    with room.place(None):
        token.cancel("enough")
        with pytest.raises(RunCancelled), room.place(token):
            pass


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM])
def test_who_is_refused_starts_when_there_is_room(number):
    room = Room()
    refusals = [OSError(number, os.strerror(number)) for _ in range(2)]

    def start():
        if refusals:
            raise refusals.pop()
        return "started"

    with room.place(None), room.place(None) as place:
        assert place.start(start) == "started"


def test_a_refusal_that_nothing_can_change_is_told(monkeypatch):
    monkeypatch.setattr(descriptors, "_PATIENCE", 0.0)
    room = Room()

    def refused():
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    def missing():
        raise FileNotFoundError(errno.ENOENT, "no such program")

    with room.place(None) as place:
        with pytest.raises(BlockingIOError):
            place.start(refused)
        with room.place(None), pytest.raises(FileNotFoundError):
            place.start(missing)
