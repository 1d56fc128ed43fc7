"""Malformed reports of a hostile host are refused, and nothing of them reaches an observer."""

import msgspec
import pytest

from asyncstate.errors import Issue
from asyncstate.extras.fleet.controller.event_stream import EventStream, Failures, FleetEnd, HostEnd, Observer, Relay
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.protocol import Report


class Heard(Observer):
    def __init__(self):
        self.events = []

    def event(self, host, event):
        self.events.append(event)


def report(attempt=1, seq=0, events=()):
    raw = tuple(msgspec.Raw(each) for each in events)
    return Report(run="r", host="h", attempt=attempt, seq=seq, events=raw)


FINISHED = b'{"event":"chunk_finished","run_id":"r","seq":0,"time":0,"tag":"t","why":"run","row":%s}'


def test_a_whole_row_is_heard():
    heard = Heard()
    row = b'{"name":"n","result":true,"changes":{},"comment":"","__run_num__":0}'
    assert EventStream("h", heard).add(report(events=[FINISHED % row]), 0.0) is None
    assert [event.tag for event in heard.events] == ["t"]


@pytest.mark.parametrize(
    "odd",
    [
        report(attempt=-1),
        report(attempt=-2, seq=3),
        report(seq=-1),
        report(events=[b"null"]),
        report(events=[b"{}"]),
        report(events=[b"[" * 5000]),
        report(events=[b'{"event":"of_tomorrow"}']),
        report(events=[b'{"journal":1}']),
        report(events=[FINISHED % b"{}"]),
        report(events=[FINISHED % b'{"result":"yes","changes":[],"comment":1}']),
    ],
)
def test_odd_reports_are_refused(odd):
    heard = Heard()
    with pytest.raises(MessageRefused):
        EventStream("h", heard).add(odd, 0.0)
    assert heard.events == []


def test_a_relay_passes_on_everything_that_an_observer_can_note():
    heard = []

    class Noting(Observer):
        def __getattribute__(self, name):
            return lambda *arguments: heard.append((name, arguments))

    methods = [name for name in vars(Observer) if not name.startswith("_")]
    relay = Relay(Noting(), Noting())
    for name in methods:
        method = getattr(relay, name)
        method(*range(method.__code__.co_argcount - 1))
    assert [name for name, _ in heard] == [name for name in methods for _ in range(2)]
    assert set(vars(Relay)) >= set(methods)


def test_states_that_fail_are_told_as_they_fail_and_tests_before_a_prereq_are_not():
    heard, failed = Heard(), []
    row = b'{"name":"n","result":%s,"changes":{},"comment":"","__run_num__":0}'
    bad = FINISHED % (row % b"false")
    checked = bad.replace(b'"tag"', b'"check":true,"tag"')
    EventStream("h", Failures(heard, failed.append)).add(report(events=[FINISHED % (row % b"true"), checked]), 0.0)
    assert failed == []
    EventStream("h", Failures(heard, failed.append)).add(report(events=[bad]), 0.0)
    assert failed == ["h"]
    assert len(heard.events) == 3


@pytest.mark.parametrize(
    ("codes", "issues", "cancelled", "code"),
    [
        ((0, 0), (), "", 0),
        ((0, 2), (), "", 2),
        ((0, 1), (), "", 2),
        ((1, 1), (), "", 1),
        ((1, 2), (), "", 2),
        ((0, 1), (Issue("a cycle"),), "", 1),
        ((2, 0), (), "SIGTERM", 143),
        ((2, 0), (), "the operator's program", 125),
    ],
)
def test_the_exit_code_of_a_run_is_that_of_apply(codes, issues, cancelled, code):
    """A host whose tree does not compile ended with 1, so that is the run's if no other host has a plan either."""
    hosts = {f"h{at}": HostEnd(each) for at, each in enumerate(codes)}
    assert FleetEnd("r", hosts, issues, cancelled).exit_code == code
