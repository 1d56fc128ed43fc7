"""Onlookers are told of every state once, by a call or by an event, and know the same as who gets all events."""

import pytest
from fake_host import FakeHost, row, run
from plans import PlanBuilder

from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted, RunFinished
from asyncstate.run.recorder import Onlooker


class Counted(Onlooker):
    """Needs the events of states that changed something."""

    def __init__(self, fails=False):
        self.begins, self.ends, self.events, self.fails = [], [], [], fails

    def began(self, tag):
        self.begins.append(tag)

    def ended(self, tag, row):
        if self.fails:
            raise ValueError("full")
        if row["changes"]:
            return False
        self.ends.append(tag)
        return True

    def on_event(self, event):
        self.events.append(event)
        if isinstance(event, ChunkStarted) and not event.check:
            self.begins.append(event.tag)
        elif isinstance(event, ChunkFinished) and not event.check:
            self.ends.append(event.tag)


@pytest.fixture
def host():
    fake = FakeHost()
    fake.state("test.nop", lambda name: row(name, changes={"x": 1} if name == "b" else {}))
    return fake


def plan():
    return PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c", prereq=["b"]).build()


def test_an_event_is_made_for_those_that_need_it_and_for_nobody_else(host):
    one, other = Counted(), Counted()
    report, _ = run(plan(), host, observers=[one, other])
    assert sorted(one.begins) == sorted(one.ends) == sorted(report.rows)
    assert [type(event) for event in one.events[1:]] == [ChunkFinished, RunFinished]
    assert one.events[1].row["changes"]
    assert one.events == other.events


def test_who_needs_all_events_gets_them_and_onlookers_too(host):
    onlooker, told = Counted(), []
    report, _ = run(plan(), host, observers=[onlooker, told.append])
    assert sorted(onlooker.begins) == sorted(onlooker.ends) == sorted(report.rows)
    assert onlooker.events == told
    assert any(isinstance(event, ChunkReady) for event in told)


def test_one_that_raises_is_told_nothing_more(host):
    broken, well = Counted(fails=True), Counted()
    report, _ = run(plan(), host, observers=[broken, well])
    assert report.ok
    assert len(well.ends) == 3
    assert (broken.ends, len(broken.events)) == ([], 1)
    (notice,) = report.notices
    assert "raised ValueError at event" in notice
