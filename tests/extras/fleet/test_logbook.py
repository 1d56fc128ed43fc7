"""The log of an agent on the board: bounded, never in the way, each line once for every reader."""

import asyncio
import json

import pytest
from memory_board import MemoryServer

from asyncstate.extras.fleet import logbook as logbook_module
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.logbook import Logbook, LogReader, fields_of
from asyncstate.extras.fleet.protocol import LogPage, encode


def line(number, text=""):
    return json.dumps({"level": "info", "event": f"line {number}{text}"})


def events(lines):
    return [fields_of(each)["event"] for each in lines]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(logbook_module, "_PAUSE", 0.0)
    monkeypatch.setattr(logbook_module, "_AGAIN", 0.0)


class Agent:
    """An agent's log, and the board that an operator sees."""

    def __init__(self, server=None, boot="1"):
        self.server = server or MemoryServer()
        self.book = Logbook("db1", boot)
        self._task = asyncio.ensure_future(self.book.send(self.server.board("db1")))

    async def sent(self):
        for _ in range(2000):  # turns of the loop, of which a page takes a few
            await asyncio.sleep(0)

    async def lines(self):
        return await LogReader(self.server.board(), "db1").present()

    def end(self):
        self._task.cancel()


@pytest.fixture
async def agent():
    made = Agent()
    yield made
    made.end()


async def test_lines_are_read_in_order_and_each_once(agent):
    reader = LogReader(agent.server.board(), "db1")
    agent.book.write(line(0) + "\n")
    await agent.sent()
    assert events(await agent.lines()) == ["line 0"]
    coming = reader.coming()
    assert fields_of(await anext(coming))["event"] == "line 0"
    for number in range(1, 5):
        agent.book.write(line(number) + "\n")
    assert [fields_of(await anext(coming))["event"] for _ in range(4)] == [f"line {n}" for n in range(1, 5)]
    await coming.aclose()


async def test_the_board_keeps_the_newest_pages_only(agent):
    for number in range(800):
        agent.book.write(line(number, " " * 1000))
        if not number % 100:
            await agent.sent()
    await agent.sent()
    kept = events(await agent.lines())
    assert len(agent.server.values("log.>")) == logbook_module._PAGES
    assert kept[-1].startswith("line 799")
    assert kept == sorted(kept, key=lambda text: int(text.split()[1]))
    assert 100 < len(kept) < 800


async def test_an_agent_that_starts_again_does_not_begin_with_the_page_it_wrote_last(agent):
    agent.book.write(line("of the first"))
    await agent.sent()
    await agent.lines()
    agent.end()
    second = Agent(agent.server, boot="2")
    second.book.write(line("of the second"))
    await second.sent()
    assert events(await second.lines()) == ["line of the first", "line of the second"]
    second.end()


async def test_more_lines_than_can_be_sent_are_dropped_and_counted():
    agent = Agent()
    for number in range(logbook_module._WAITING + 7):  # the loop has had no turn to send any
        agent.book.write(line(number))
    await agent.sent()
    found = events(await agent.lines())
    assert found[0] == "lines of this log that were not sent: 7"
    agent.end()


async def test_a_board_that_refuses_ends_nothing_and_what_was_not_sent_is_counted(agent):
    agent.book.write(line(0))
    await agent.sent()
    agent.server.give_up("db1")
    agent.book.write(line(1))
    await agent.sent()
    assert not agent._task.done()
    with pytest.raises(BoardError):
        await agent.server.board("db1").put(subjects.lease("db1"), b"")
    agent.server.gone.clear()
    agent.book.write(line(2))
    await agent.sent()
    lost = "lines of this log that were not sent: 1"
    assert events(await agent.lines()) == ["line 0", lost, "line 2"]


async def test_a_line_that_is_too_long_for_a_page_is_shortened(agent):
    agent.book.write(line(0, "x" * 50_000))
    agent.book.write(json.dumps({f"field{number}": "x" * 1000 for number in range(50)}))
    agent.book.write("no json at all " * 5000)
    await agent.sent()
    first, second, third = events(await agent.lines())
    assert len(first) == logbook_module._LONGEST + 1
    assert first.startswith("line 0xxx")
    assert second.endswith("characters was not sent")
    assert third.startswith("no json at all")


@pytest.mark.parametrize("page", ["x", "-1", "9" * 30, "²"])
async def test_a_page_that_this_program_would_not_write_keeps_no_agent_from_writing(page):
    """Whoever has the credentials of a host can write it."""
    server = MemoryServer()
    server.put(subjects.log("db1", page), b"x")
    agent = Agent(server)
    agent.book.write(line(0))
    await agent.sent()
    assert events(await agent.lines()) == ["line 0"]
    agent.end()


async def test_pages_that_are_none_or_of_another_host_are_passed_over(agent, caplog):
    agent.server.put(subjects.log("db1", "3"), b"nonsense")
    agent.server.put(subjects.log("db1", "4"), encode(LogPage(host="db2", boot="x", number=4, lines=("forged",))))
    agent.book.write(line(0))
    await agent.sent()
    assert events(await agent.lines()) == ["line 0"]
    assert caplog.text.count("is refused") == 2
