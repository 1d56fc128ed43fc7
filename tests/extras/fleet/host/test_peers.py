"""The other hosts of a run, as one host sees them."""

import asyncio

import pytest
from fake_host import FakeHost, VirtualLoop, local_engine, row
from fleets import Fleet
from memory_board import MemoryServer, Seal
from msgspec.structs import replace

from asyncstate.dunders import __running__
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.host.mailbox import Mailbox
from asyncstate.extras.fleet.host.peers import Peers
from asyncstate.extras.fleet.protocol import Lost, NodeResult, Offer, Opened, decode, encode
from asyncstate.model.chunk import state_tag
from asyncstate.model.result import Outcome
from asyncstate.run.engine import RunOptions

PART = Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)])]).parts()["web1"]
NODE = PART.remote["db1", "0"]
OFFER = Offer(run="r", host="web1")


def first_arrival(*, row, notice):
    async def scenario():
        server, seal = MemoryServer(), Seal()
        board = server.board("web1")
        mail = Mailbox(board, "web1", "r")
        others = Peers(board, mail, OFFER, PART, seal)
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


def test_a_row_that_was_not_heard_counts_before_a_notice_of_loss():
    """Rows and notices come from two streams of the server, and so in no order."""

    async def scenario():
        server, seal = MemoryServer(), Seal()
        mail = Mailbox(server.board("web1"), "web1", "r")
        others = Peers(server.board("web1"), mail, OFFER, PART, seal)
        tasks = [asyncio.create_task(each) for each in (mail.receive(), others.receive())]
        await asyncio.sleep(1)
        mail._row_watch.cancel()
        row = NodeResult(run="r", host="db1", node="0", result=True, changed=True)
        await server.board("db1").put(subjects.row("web1", "db1", "r", "0"), encode(row))
        key = subjects.lost("web1", "r", "db1")
        notice = Lost(run="r", host="web1", lost="db1", seconds=15.0)
        await server.board().put(key, seal.seal(encode(notice), key))
        async with asyncio.timeout(100):
            arrived = await anext(others.outcomes())
        for task in tasks:
            task.cancel()
        return arrived

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(scenario()) == (NODE, Outcome(result=True, changed=True))


def test_a_notice_says_why_a_host_that_is_there_sends_nothing_more():
    (_, outcome), words = first_arrival(row=None, notice=Lost(run="r", host="web1", lost="db1", why="no space"))
    assert (outcome.result, outcome.ran) == (False, False)
    assert "Host db1 ended without it: no space." in words


@pytest.mark.parametrize("again", [False, True])
def test_what_was_told_before_a_restart_stays(again):
    async def scenario():
        server = MemoryServer()
        board = server.board("db1")
        part = Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)])]).parts()["db1"]
        offer = Offer(run="r", host="db1")
        key = subjects.row("web1", "db1", "r", "0")
        if again:
            await board.put(key, encode(NodeResult(run="r", host="db1", node="0", result=True)))
        others = Peers(board, Mailbox(board, "db1", "r"), offer, part, Seal())
        await others.close("enough", again=again)
        await others.flush()
        return decode(server.values(key)[0].value, NodeResult)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        row = runner.run(scenario())
    assert (row.result, row.why) == ((True, "") if again else (False, "db1 did not run it: enough."))


def test_a_barrier_that_the_operator_did_not_open_stays_closed():
    async def scenario():
        server = MemoryServer()
        board = server.board("h2")
        args = {"a": {"fleet_order": 1}, "b": {"fleet_order": 2}}
        part = Fleet([("a", "h1", []), ("b", "h2", [])], args=args).parts()["h2"]
        mail = Mailbox(board, "h2", "r")
        others = Peers(board, mail, Offer(run="r", host="h2"), part, Seal())
        key = subjects.barrier("h2", "r", 1)
        await server.board().put(key, Seal("mallory").seal(encode(Opened(run="r", host="h2", order=1)), key))
        tasks = [asyncio.create_task(each) for each in (mail.receive(), others.receive())]
        await asyncio.sleep(5)
        early = list(others._arrived)
        await server.board().put(key, Seal().seal(encode(Opened(run="r", host="h2", order=1)), key))
        async with asyncio.timeout(100):
            arrived = await anext(others.outcomes())
        for task in tasks:
            task.cancel()
        return early, arrived, part.barriers

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        early, arrived, barriers = runner.run(scenario())
    assert early == []
    assert arrived == (barriers[1], Outcome(result=True, changed=False))


def test_who_watches_states_of_other_hosts_finds_their_rows_but_not_among_those_of_its_own():
    """The ``mod_watch`` of a ``test`` module asks ``__running__`` which of the states that it watches changed."""
    fleet = Fleet([("a", "db1", []), ("b", "db2", []), ("c", "web1", [("watch", "a", False), ("watch", "b", False)])])
    host = FakeHost()
    host.state("test.nop", row)

    @host.state("test.mod_watch")
    async def mod_watch(name, **low):
        tags = [
            state_tag(each["state"], each["__id__"], each["name"], each["fun"]) for each in low["__reqs__"]["watch"]
        ]
        rows = {__running__[tag]["__id__"]: __running__[tag]["changes"] for tag in tags}
        return row(name, changes={"rows": rows, "known": [tag in __running__ for tag in tags], "own": len(__running__)})

    async def scenario():
        server, part = MemoryServer(), fleet.parts()["web1"]
        mail = Mailbox(server.board("web1"), "web1", "r")
        others = Peers(server.board("web1"), mail, OFFER, part, Seal())
        for writer, changed in (("db1", True), ("db2", False)):
            told = NodeResult(run="r", host=writer, node="0", result=True, changed=changed)
            await server.board(writer).put(subjects.row("web1", writer, "r", "0"), encode(told))
        tasks = [asyncio.create_task(each) for each in (mail.receive(), others.receive())]
        async with asyncio.timeout(100):
            report = await local_engine(part.plan, host, RunOptions(run_id="r"), elsewhere=others).run()
        for task in tasks:
            task.cancel()
        return report

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        [only] = runner.run(scenario()).rows.values()
    assert only["changes"] == {"rows": {"a": {"db1": "changed"}, "b": {}}, "known": [True, True], "own": 0}


def test_states_of_several_hosts_with_one_tag_share_a_row():
    def told(*results):
        server = MemoryServer()
        hosts = [f"db{number}" for number in range(len(results))]
        part = Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)])]).parts()["web1"]
        chunk = part.plan.elsewhere[part.remote["db1", "0"]]
        plan = replace(part.plan, elsewhere=dict(enumerate([chunk] * len(hosts))))
        part = replace(part, plan=plan, remote={(host, "0"): number for number, host in enumerate(hosts)})
        others = Peers(server.board("web1"), Mailbox(server.board("web1"), "web1", "r"), OFFER, part, Seal())
        for number, result in enumerate(results):
            others._arrive(number, Outcome(result=result, changed=True), "" if result else f"words {number}")
        [only] = others.rows.values()
        return only["result"], sorted(only["changes"]), only["comment"]

    assert told(True, True) == (True, ["db0", "db1"], "")
    assert told(True, None) == (None, ["db0", "db1"], "words 1")
    assert told(None, False, True) == (False, ["db0", "db1", "db2"], "words 0 words 1")
