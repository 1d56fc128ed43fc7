"""What one host learns of the others of its run."""

import asyncio

from fake_host import VirtualLoop
from fleets import Fleet
from memory_board import MemoryServer, Seal

from asyncstate.fleet import subjects
from asyncstate.fleet.mailbox import Mailbox
from asyncstate.fleet.others import Others
from asyncstate.fleet.protocol import Lost, NodeResult, Offer, encode
from asyncstate.model.result import Outcome

PART = Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)])]).parts()["web1"]
NODE = PART.remote["db1", "0"]


def first_arrival(*, row, notice):
    async def scenario():
        server, seal = MemoryServer(), Seal()
        board = server.board("web1")
        mail = Mailbox(board, "web1", "r")
        others = Others(board, mail, Offer(run="r", host="web1"), PART, seal)
        if row is not None:
            await server.board("db1").put(subjects.row("web1", "db1", "r", "0"), encode(row))
        key = subjects.lost("web1", "r", "db1")
        await server.board().put(key, seal.seal(encode(notice), key))
        tasks = [asyncio.create_task(each) for each in (mail.receive(), others.receive())]
        async with asyncio.timeout(100):
            arrived = await anext(others.outcomes())
        for task in tasks:
            task.cancel()
        return arrived, others.words([NODE])

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario())


def test_a_notice_of_loss_does_not_overtake_a_row_that_was_written_before():
    row = NodeResult(run="r", host="db1", node="0", result=True, changed=True)
    arrived, words = first_arrival(row=row, notice=Lost(run="r", host="web1", lost="db1", seconds=15.0))
    assert arrived == (NODE, Outcome(result=True, changed=True))
    assert words == ""


def test_a_notice_says_why_a_host_that_is_there_sends_nothing_more():
    (_, outcome), words = first_arrival(row=None, notice=Lost(run="r", host="web1", lost="db1", why="no space"))
    assert (outcome.result, outcome.ran) == (False, False)
    assert "Host db1 ended without it: no space." in words
