from __future__ import annotations

import asyncio
import posixpath
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import beside

from asyncstate.dunders import editing
from asyncstate.dunders.context import Additions, CallContext, CancelToken, SharedContext, current
from asyncstate.dunders.entries import entry_of
from asyncstate.effects.scoreboard import Scoreboard
from asyncstate.errors import LoaderError, RunCancelled

TABLES = beside(__file__)


def context(**more):
    empty = {"grains": {}, "pillar": {}, "salt": {}, "states": {}, "utils": {}}
    made = CallContext(opts={"test": False}, context=SharedContext(threading.RLock()), **empty)
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

    def add(_number):
        for _ in range(50):
            with editing("/x/f"):
                now = len(count)
                count.append(now)
                assert len(count) == now + 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
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


KEYS = st.text(alphabet="ab./#*%[] \n", max_size=5)


@pytest.mark.parametrize(("parts", "name"), TABLES["the name of an entry"])
def test_the_name_of_an_entry(parts, name):
    assert entry_of(*parts) == name


@given(st.lists(KEYS, min_size=1, max_size=3), st.lists(KEYS, min_size=1, max_size=3))
def test_entries_meet_where_one_is_within_the_other_whatever_their_keys_are(one, other):
    for whole in ("path:/etc/f", "grains"):
        first, second = entry_of(whole, *one), entry_of(whole, *other)
        assert posixpath.normpath(first) == first
        board = Scoreboard(lambda nodes, resource: -1)
        board.touch(0, [], [first])
        shorter = min(len(one), len(other))
        assert bool(board.touch(1, [], [second]).always) is (one[:shorter] == other[:shorter])
        assert board.touch(2, [], [whole]).always


def apply(lines, additions, rank, key, value):
    """What a state does to a file of ``key=value``: change an entry, remove it, or add it."""
    keys = [line.partition("=")[0] for line in lines]
    if value is None:
        return [line for line, each in zip(lines, keys, strict=True) if each != key]
    if key in keys:
        return [f"{key}={value}" if each == key else line for line, each in zip(lines, keys, strict=True)]
    lines = list(lines)
    lines.insert(additions.place([None if each == "#" else each for each in keys], key), f"{key}={value}")
    return lines


class At:
    def __init__(self, additions, rank):
        self.additions, self.rank = additions, rank

    def place(self, entries, key):
        return self.additions.place(entries, key, self.rank)


@st.composite
def runs(draw):
    """A file, what states do to its entries in serial order, and another order that keeps that of each key."""
    before = draw(st.lists(st.sampled_from(["a=0", "b=0", "#=1", "c=0", "#=2"]), max_size=4, unique=True))
    deeds = draw(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from([None, 1, 2])), max_size=9))
    places = draw(st.permutations(range(len(deeds))))
    queues = {key: [n for n, deed in enumerate(deeds) if deed[0] == key] for key, _ in deeds}
    return before, deeds, [queues[deeds[place][0]].pop(0) for place in places]


@given(runs())
def test_any_order_gives_the_lines_of_the_serial_one(run):
    before, deeds, order = run

    def after(ranks):
        additions, lines = Additions(), before
        for rank in ranks:
            lines = apply(lines, At(additions, rank), rank, *deeds[rank])
        return lines

    assert after(order) == after(range(len(deeds)))


def test_several_entries_of_one_state_stay_in_its_order():
    additions = Additions()
    lines = []
    for rank, key in [(5, "e"), (2, "x"), (2, "y"), (9, "z"), (2, "a")]:
        lines.insert(additions.place(lines, key, rank), key)
    assert lines == ["x", "y", "a", "e", "z"]


def test_what_other_programs_wrote_meanwhile_stays_where_it_is():
    additions = Additions()
    assert additions.place(["a"], "k", 5) == 1
    assert additions.place(["a", "other"], "l", 3) == 2
