"""Reports of a host arrive, however large they are, and a busy board gets fewer of them."""

import asyncio
import random

import msgspec
import pytest
from fake_host import VirtualLoop, row
from hypothesis import example, given
from hypothesis import strategies as st
from memory_board import MemoryServer

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.event_stream import EventStream, Observer
from asyncstate.extras.fleet.errors import BoardRefused, ValueTooLarge
from asyncstate.extras.fleet.host.reporter import Reporter
from asyncstate.extras.fleet.protocol import FINISHED, Report, decode
from asyncstate.journal.entry import event_of
from asyncstate.model.event import ChunkFinished, ChunkOutput, ChunkRetried, RunFinished, StateEvent


class SmallBoard:
    """A board that takes no more bytes than ``most`` at once, after ``seconds``."""

    def __init__(self, most=1 << 30, seconds=0.0):
        self.most = most
        self.seconds = seconds
        self.published = []

    async def publish(self, subject, data, *, id):
        if len(data) > self.most:
            raise ValueTooLarge(f"{len(data)} bytes are more than the server takes at once ({self.most})")
        await asyncio.sleep(self.seconds)
        self.published.append((id, decode(data, Report)))


class FullBoard(SmallBoard):
    """A board that refuses the reports whose turns are in ``full``, and keeps what comes under keys."""

    def __init__(self, full):
        super().__init__()
        self.full = full
        self.turn = 0
        self.kept = {}

    async def publish(self, subject, data, *, id):
        self.turn += 1
        if self.turn - 1 in self.full:
            raise BoardRefused("full")
        await super().publish(subject, data, id=id)

    async def put(self, key, value):
        self.kept[key] = decode(value, Report)


class Told(Observer):
    def __init__(self):
        self.events = []
        self.notes = []

    def noted(self, words):
        self.notes.append(words)

    def event(self, host, event):
        self.events.append(event)


def finished(number, **fields):
    tag = f"test_|-s{number}_|-s{number}_|-nop"
    return ChunkFinished(run_id="r", seq=number, time=0.0, tag=tag, why="met", row=row("s", **fields))


def noise(size):
    """Text that cannot be compressed much."""
    return random.Random(size).randbytes(size // 2 + 1).hex()[:size]


def reported(events, board):
    """What an operator hears of events, and how the part ended."""

    async def scenario():
        reporter = Reporter(board, "r", "h", 1)
        for event in events:
            reporter.on_event(event)
        await reporter.end(FINISHED)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(scenario())
    told = Told()
    tale = EventStream("h", told)
    ends = [tale.add(report, 0.0) for _, report in board.published]
    assert [report.seq for _, report in board.published] == list(range(len(ends)))
    return told.events, ends[-1]


END = RunFinished(run_id="r", seq=99, time=1.0, exit_code=0, succeeded=3, changed=1, failed=0)


def test_an_event_that_is_too_large_for_the_server_comes_without_what_is_long():
    large = finished(1, changes={"diff": noise(90_000)}, comment="It changed.")
    events = [finished(0), large, finished(2), END]
    told, end = reported(events, SmallBoard(most=20_000))
    assert end.exit_code == 0
    assert [told[0], *told[2:]] == [events[0], *events[2:]]
    assert (told[1].tag, told[1].row["result"], bool(told[1].row["changes"])) == (large.tag, True, True)
    assert told[1].row["comment"].startswith("It changed.\n")
    assert (
        "more than the server takes at once (20000): the journal of this host has all of it" in told[1].row["comment"]
    )


def test_events_that_are_too_large_together_are_split():
    events = [*(finished(number, comment=noise(9_000 + number)) for number in range(20)), END]
    board = SmallBoard(most=20_000)
    told, end = reported(events, board)
    assert (told, end.exit_code) == (events, 0)
    assert len({name for name, _ in board.published}) == len(board.published)


LARGE = st.recursive(
    st.text(max_size=3) | st.integers(0, 9) | st.builds(noise, st.integers(0, 60_000)),
    lambda each: st.lists(each, max_size=150) | st.dictionaries(st.text(max_size=3), each, max_size=150),
    max_leaves=12,
)


@given(LARGE, LARGE)
def test_whatever_a_row_has_it_arrives_and_says_how_the_state_ended(changes, returned):
    changes = changes if isinstance(changes, dict) else {"x": changes}
    event = finished(0, changes=changes, returned=returned, result=False)
    (told, _), end = reported([event, END], SmallBoard(most=20_000))
    assert end.exit_code == 0
    assert (told.tag, told.row["result"], bool(told.row["changes"])) == (event.tag, False, bool(changes))
    assert told == event or "the journal of this host has all of it" in told.row["comment"]


@pytest.mark.parametrize(
    "event",
    [
        ChunkOutput(run_id="r", seq=1, time=0.0, tag="test_|-a_|-a_|-nop", text=noise(50_000)),
        ChunkRetried(
            run_id="r", seq=1, time=0.0, tag="t", attempt=1, result=False, comment=noise(50_000), interval=1.0
        ),
        StateEvent(run_id="r", seq=1, time=0.0, name="a", row=row("a", comment=noise(50_000))),
        msgspec.structs.replace(END, rows={"a_|-b_|-c_|-d": row("a", comment=noise(50_000))}),
    ],
)
def test_every_event_can_be_shortened(event):
    told, end = reported([event, END], SmallBoard(most=20_000))
    assert (type(told[0]), end.exit_code) == (type(event), 0)
    assert "the journal of this host has all of it" in str(told[0])


def test_what_cannot_be_made_small_enough_is_an_error():
    with pytest.raises(ValueTooLarge):
        reported([finished(0)], SmallBoard(most=10))


@given(st.floats(0, 30))
def test_a_slow_board_gets_fewer_reports(seconds):
    async def scenario():
        board = SmallBoard(seconds=seconds)
        reporter = Reporter(board, "r", "h", 1)
        task = asyncio.create_task(reporter.send())
        for number in range(600):
            reporter.on_event(finished(number))
            await asyncio.sleep(0.1)
        task.cancel()
        return len(board.published), asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        sent, took = runner.run(scenario())
    pause = min(max(0.2, 5 * seconds), 3.0)
    assert took / (seconds + pause + 0.3) - 2 <= sent <= took / (seconds + pause) + 2


HUGE = "x" * (5 << 20)


def ended(**row):
    made = {"name": "n", "changes": {}, "result": True, "comment": "done", "__id__": "i", **row}
    return ChunkFinished(run_id="r", seq=0, time=0.0, tag="s_|-i_|-n_|-f", row=made, why="met")


def sent(*events):
    async def report():
        server = MemoryServer()
        reporter = Reporter(server.board("a"), "r", "a", 1)
        for event in events:
            reporter.on_event(event)
        await reporter.end(FINISHED)
        return list(server.past(">", 0))

    reports = [decode(message.data, Report) for message in asyncio.run(report())]
    assert [each.seq for each in reports] == list(range(len(reports)))
    assert all(sum(map(len, map(bytes, each.events))) < 8 << 20 for each in reports)
    return [event_of(bytes(raw)) for each in reports for raw in each.events]


def test_an_event_comes_as_it_is():
    events = [ended(comment=str(number)) for number in range(3)]
    assert sent(*events) == events


@pytest.mark.parametrize(
    "large",
    [{"changes": {"ret": HUGE}}, {"comment": HUGE}, {"data": HUGE, "changes": {"a": 1}}, {"comment": [HUGE]}],
)
def test_of_a_row_that_is_too_large_comes_how_the_state_ended(large):
    event = ended(result=False, **large)
    [come] = sent(event)
    assert come.row["result"] is False
    assert bool(come.row["changes"]) == bool(event.row["changes"])
    assert "5.0 MiB are too much to be sent: the journal of this host has all of it" in come.row["comment"]
    assert come.row["__id__"] == "i"
    assert (come.tag, come.why) == (event.tag, event.why)


def test_the_rows_of_sub_states_count():
    subs = {"s_|-b_|-b_|-f": {"name": "b", "changes": {}, "result": True, "comment": HUGE}}
    [come] = sent(
        ChunkFinished(run_id="r", seq=0, time=0.0, tag="s_|-i_|-n_|-f", row=ended().row, why="met", sub_rows=subs)
    )
    assert come.sub_rows == {}
    assert come.row["comment"].startswith("done\n5.0 MiB are too much")


class SlowLink(SmallBoard):
    """A link with a limit of bytes a second; each answer takes ``latency`` seconds."""

    def __init__(self, rate, latency=0.0):
        super().__init__()
        self.rate = rate
        self.latency = latency
        self.sizes = []

    async def publish(self, subject, data, *, id):
        self.seconds = self.latency + len(data) / self.rate
        self.sizes.append(len(data))
        await super().publish(subject, data, id=id)


@given(
    st.lists(st.tuples(st.integers(1, 30_000) | st.integers(1, 800_000), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([4_000, 40_000, 10_000_000]),
    st.sampled_from([0.0, 1.6]),
)
@example([(800_000, True)], 4_000, 0.0)
@example([*[(30_000, False)] * 20, *[(250_000, True)] * 3], 4_000, 1.6)
def test_no_report_occupies_a_link_for_long(sizes, rate, latency):
    """A sign of life waits behind a report, and a host is lost after three that are missing."""
    board = SlowLink(rate, latency)
    texts = [noise(size) if random_ else "x" * size for size, random_ in sizes]
    events = [finished(number, comment=text) for number, text in enumerate(texts)]
    told, end = reported(events, board)
    assert [event.tag for event in told] == [event.tag for event in events]
    assert end.why == ""
    assert max(board.sizes) / rate <= 20
    if rate == 10_000_000 and not latency:
        assert [event.row["comment"] for event in told] == [event.row["comment"] for event in events]


@given(st.sets(st.integers(0, 12)), st.booleans(), st.sampled_from([0, 2]))
def test_a_run_ends_with_its_own_code_whatever_reports_are_refused(full, overtakes, code):
    """What arrived is told in order, the rest is counted; a last report at a key of its own may overtake the others."""
    board = FullBoard(full)
    events = [finished(number, comment=noise(12_000)) for number in range(8)]
    events.append(RunFinished(run_id="r", seq=8, time=1.0, exit_code=code, succeeded=8, changed=0, failed=0))

    async def scenario():
        reporter = Reporter(board, "r", "h", 1)
        for event in events:
            reporter.on_event(event)
        await reporter.end(FINISHED)

    asyncio.run(scenario())
    sent = [report for _, report in board.published]
    last = [board.kept[subjects.end("h", "r")]] if board.kept else []
    told = Told()
    tale = EventStream("h", told)
    ends = [end for report in (last + sent if overtakes else sent + last) if (end := tale.add(report, 0.0)) is not None]
    assert [end.exit_code for end in ends] == [code]
    arrived = [event for report in sent for event in map(event_of, map(bytes, report.events))]
    assert told.events == arrived
    lost = len(events) - len(arrived)
    assert [f"h: {lost} events" in each for each in told.notes] == [True] * bool(lost)
