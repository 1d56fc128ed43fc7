"""The runner's end of its stream: answers reach the requester, and its end reaches all waiting tasks."""

import os
import threading

import pytest

from asyncstate.errors import PillarError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh import frames
from asyncstate.extras.fleet.ssh.channel import Channel


class Operator:
    """The other end of a channel's stream."""

    def __init__(self):
        self.hears, writing = os.pipe()
        reading, self.says = os.pipe()
        self.ended = threading.Event()
        self.channel = Channel(reading, writing, self.ended.set)
        self._ends = [self.hears, writing, reading]

    def say(self, *frame):
        os.write(self.says, frames.encode(*frame))

    def hear(self):
        """Return the next frame that asks: on a slow machine a sign of life comes before it."""
        while True:
            size = frames.length(os.read(self.hears, frames.HEAD))
            frame = frames.decode(os.read(self.hears, size))
            if frame.word != frames.PING:
                return frame

    def close(self):
        if self.says is not None:
            os.close(self.says)
            self.says = None
            assert self.ended.wait(30)


@pytest.fixture
def operator():
    made = Operator()
    yield made
    made.close()
    for thread in threading.enumerate():
        if thread.name == "asyncstate-ssh_write_all":  # it may still write into what the next test opens
            thread.join()
    for each in made._ends:
        os.close(each)


def begun(operator):
    operator.say(0, frames.BEGIN, frames.Begin(host="a1"))
    assert operator.channel.start().host == "a1"
    return operator.channel


def test_answers_reach_who_asked_in_any_order(operator):
    channel = begun(operator)
    first, second = channel.ask("get", "a"), channel.ask("get", "b")
    asked = [operator.hear(), operator.hear()]
    assert [each.value for each in asked] == [["a"], ["b"]]
    operator.say(asked[1].number, frames.OK, b"2")
    operator.say(99, frames.OK, b"for nobody")
    operator.say(asked[0].number, frames.OK, b"1")
    assert (first.result(30), second.result(30)) == (b"1", b"2")


@pytest.mark.parametrize(
    "spoiled",
    [
        {"environments": ["../../out"]},
        {"environments": [".."]},
        {"environments": ["a/b"]},
        {"lease": -1.0},
        {"host": 1},
    ],
)
def test_a_beginning_that_is_none_is_refused(operator, spoiled):
    operator.say(0, frames.BEGIN, {"host": "a1", **spoiled})
    with pytest.raises(BoardError, match="a frame has no Begin as its value"):
        operator.channel.start()
    operator.ended.set()


def test_an_error_that_is_none_reaches_who_asked(operator):
    channel = begun(operator)
    asked, next_asked = channel.ask("get", "a"), channel.ask("get", "b")
    operator.say(1, frames.ERROR, 7)
    operator.say(2, frames.OK, b"2")
    with pytest.raises(BoardError, match="a frame has no Trouble as its value"):
        asked.result(30)
    assert next_asked.result(30) == b"2"


def test_errors_are_raised_as_what_they_are(operator):
    channel = begun(operator)
    put, pillar = channel.ask("put", "a", b""), channel.ask("pillar", {})
    operator.say(1, frames.ERROR, frames.Trouble(text="you may not"))
    operator.say(2, frames.ERROR, frames.Trouble(text="bad", issues=(("odd", "p.sls", 3, "mend it"),)))
    with pytest.raises(BoardError, match="you may not"):
        put.result(30)
    with pytest.raises(PillarError) as caught:
        pillar.result(30)
    assert [(each.file, each.line) for each in caught.value.issues] == [("p.sls", 3)]


@pytest.mark.parametrize("end", ["gone", "bye", "noise"])
def test_the_end_reaches_all_who_wait_and_all_who_ask_later(operator, end):
    channel = begun(operator)
    asked, taken = channel.ask("get", "a"), []
    channel.subscribe("watch", "a", taker=taken.append)
    if end == "gone":
        operator.close()
    elif end == "bye":
        operator.say(0, frames.BYE)
    else:
        os.write(operator.says, b"\xff" * 64)
    with pytest.raises(BoardError):
        asked.result(30)
    assert operator.ended.wait(30)
    assert [type(each) for each in taken] == [BoardError]
    assert channel.said_bye is (end == "bye")
    with pytest.raises(BoardError, match="has ended"):
        channel.ask("get", "b")


def test_a_stream_that_does_not_begin_is_refused(operator):
    operator.say(0, frames.PING)
    with pytest.raises(BoardError, match="did not begin"):
        operator.channel.start()
    operator.ended.set()


def test_what_is_too_long_is_refused_before_it_is_sent(operator):
    channel = begun(operator)
    with pytest.raises(BoardError):
        channel.ask("put", "a", bytes(frames.LARGEST))
    answer = channel.ask("get", "a")
    operator.say(operator.hear().number, frames.OK, b"1")
    assert answer.result(30) == b"1"
