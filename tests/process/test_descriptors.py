"""Descriptors beyond the limit are waited for instead of failing."""

from __future__ import annotations

import errno
import gc
import os
import threading
import time

import pytest
from messages import said
from tables import beside

from asyncstate.dunders.context import CancelToken
from asyncstate.errors import RunCancelled
from asyncstate.process import child, descriptors
from asyncstate.process.descriptors import OF_A_STATE, RESERVE, TO_START, WATCHED, Room, Thread, places

TABLES = beside(__file__)


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    monkeypatch.setattr(descriptors, "limit", lambda: 1 << 20)
    monkeypatch.setattr(descriptors, "_tasks_of_user", lambda: (1 << 30, 0, ""))
    monkeypatch.setattr(descriptors, "_tasks_of_group", lambda: (1 << 30, 0, ""))
    monkeypatch.setattr(descriptors, "_address_space", lambda: None)


def test_places_are_those_wanted_where_there_is_room():
    assert places(1000) == (1000, "")


@pytest.mark.parametrize(("limit", "most"), [(64, 20), (30, 3), (10, 1), (0, 1)])
def test_places_are_few_where_few_descriptors_are_left(monkeypatch, limit, most):
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    number, why = places(200)
    assert 1 <= number <= most
    assert f"this process may have {limit} open files" in why
    assert places(1) == (1, "")


@pytest.mark.parametrize("source", ["_tasks_of_user", "_tasks_of_group"])
@pytest.mark.parametrize(("allowed", "used", "number"), [(3, 3, 1), (6, 3, 1), (20, 3, 4), (4000, 100, 200)])
def test_places_are_few_where_few_processes_are_allowed(monkeypatch, source, allowed, used, number):
    monkeypatch.setattr(descriptors, source, lambda: (allowed, used, "somehow"))
    words = f"there may be {allowed} processes and threads, and {used} are there (raise it somehow)"
    assert places(200) == (number, words if number < 200 else "")


@pytest.mark.parametrize(("allowed", "number"), [(100, 1), (200, 1), (400, 5), (100_000, 200)])
def test_places_are_few_where_little_memory_is_allowed(monkeypatch, allowed, number):
    monkeypatch.setattr(descriptors, "_address_space", lambda: (allowed, 110))
    words = said("memory", allowed=allowed)
    assert places(200) == (number, words if number < 200 else "")


def test_the_tightest_control_group_counts(monkeypatch, tmp_path):
    """Each folder above a group may have a limit of its own, and so may the hierarchies of version 1."""
    monkeypatch.undo()
    texts = TABLES["the tightest control group counts"]
    for path, text in texts.items():
        (tmp_path / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path[1:]).write_text(text + "\n")

    def opened(path, mode="r", **options):
        return open(tmp_path / path[1:], mode, **options)

    monkeypatch.setattr(descriptors, "open", opened, raising=False)
    assert descriptors._tasks_of_group()[:2] == (40, 30)


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
        gc.collect()  # what other tests have left closes its descriptors now, not while they are counted
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
    monkeypatch.setattr(descriptors, "PATIENCE", 0.0)
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


def test_programs_that_only_wait_to_start_are_none_that_run(monkeypatch):
    """Each of two that are refused waits for one that runs, not for the other; they fail one after the other."""
    monkeypatch.setattr(descriptors, "PATIENCE", 0.3)
    room, ended = Room(), []

    def refused():
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    def wait(number):
        with room.place(None) as place:
            with pytest.raises(BlockingIOError):
                place.start(refused)
            ended.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == [0, 1, 2]


def test_a_program_that_runs_is_waited_for(monkeypatch):
    monkeypatch.setattr(descriptors, "PATIENCE", 0.0)
    room, tries = Room(), []

    def refused():
        tries.append(None)
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    def wait():
        with room.place(None) as place, pytest.raises(BlockingIOError):
            place.start(refused)

    with room.place(None) as runs:
        runs.start(lambda: None)
        thread = threading.Thread(target=wait)
        thread.start()
        while len(tries) < 4:
            assert thread.is_alive()
            time.sleep(0.01)
    thread.join(60)
    assert not thread.is_alive()


def test_a_refusal_lets_others_give_threads_back(monkeypatch):
    monkeypatch.setattr(descriptors, "LOOK", 0.0)
    room, given = Room(), []

    class Holder:
        def give_back(self):
            given.append(None)

    holder = Holder()
    room.holders.add(holder)

    def start():
        if not given:
            raise BlockingIOError(errno.EAGAIN, "no more processes")
        return "started"

    with room.place(None) as place:
        assert place.start(start) == "started"


def test_a_thread_that_has_no_memory_to_begin_is_an_error(monkeypatch):
    monkeypatch.setattr(descriptors, "_BEGINNING", 0.05)
    monkeypatch.setattr(threading.Thread, "_bootstrap", lambda _thread: None)  # it ends before its first line
    with pytest.raises(RuntimeError, match="did not begin"):
        Thread(target=int).start()


def test_a_thread_without_memory_is_an_error_like_one_without_a_process(monkeypatch):
    def refuse(_thread):
        raise MemoryError

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="memory ran out"):
        Thread(target=int).start()
