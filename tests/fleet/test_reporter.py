"""What a host reports fits the messages of a server, whatever its states return."""

import asyncio

import pytest
from memory_board import MemoryServer

from asyncstate.fleet.protocol import FINISHED, Report, decode
from asyncstate.fleet.reporter import Reporter
from asyncstate.journal.entry import event_of
from asyncstate.model.event import ChunkFinished

LARGE = "x" * (5 << 20)


def finished(**row):
    made = {"name": "n", "changes": {}, "result": True, "comment": "done", "__id__": "i", **row}
    return ChunkFinished(run_id="r", seq=0, time=0.0, tag="s_|-i_|-n_|-f", row=made, why="met")


def sent(*events):
    async def report():
        server = MemoryServer()
        reporter = Reporter(server.board("a"), "r", "a", 1)
        for event in events:
            reporter.on_event(event)
        await reporter.end(FINISHED)
        return server.stream

    reports = [decode(message.data, Report) for message in asyncio.run(report())]
    assert [each.seq for each in reports] == list(range(len(reports)))
    assert all(sum(map(len, map(bytes, each.events))) < 8 << 20 for each in reports)
    return [event_of(bytes(raw)) for each in reports for raw in each.events]


def test_an_event_comes_as_it_is():
    events = [finished(comment=str(number)) for number in range(3)]
    assert sent(*events) == events


@pytest.mark.parametrize(
    "large",
    [{"changes": {"ret": LARGE}}, {"comment": LARGE}, {"data": LARGE, "changes": {"a": 1}}, {"comment": [LARGE]}],
)
def test_of_a_row_that_is_too_large_comes_how_the_state_ended(large):
    event = finished(result=False, **large)
    [come] = sent(event)
    assert come.row["result"] is False
    assert bool(come.row["changes"]) == bool(event.row["changes"])
    assert "5.0 MiB are too much to be sent: the journal of this host has all of it" in come.row["comment"]
    assert come.row["__id__"] == "i"
    assert (come.tag, come.why) == (event.tag, event.why)


def test_the_rows_of_sub_states_count():
    subs = {"s_|-b_|-b_|-f": {"name": "b", "changes": {}, "result": True, "comment": LARGE}}
    [come] = sent(
        ChunkFinished(run_id="r", seq=0, time=0.0, tag="s_|-i_|-n_|-f", row=finished().row, why="met", sub_rows=subs)
    )
    assert come.sub_rows == {}
    assert come.row["comment"].startswith("done\n5.0 MiB are too much")
