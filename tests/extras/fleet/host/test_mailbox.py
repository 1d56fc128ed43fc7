"""Entries for a host are kept until it asks for them; rows that it does not await take limited room."""

import asyncio

from fake_host import VirtualLoop
from hypothesis import given
from hypothesis import strategies as st
from memory_board import MemoryServer

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.host.mailbox import Mailbox


def row(writer, node):
    return subjects.row("web1", writer, "r", node)


@given(
    st.lists(st.tuples(st.sampled_from(["db1", "bad1"]), st.integers(0, 9), st.integers(1, 300)), max_size=40),
    st.sets(st.integers(0, 9)),
    st.integers(0, 40),
)
def test_every_awaited_row_comes_however_many_nobody_asked_for_and_those_have_a_limit(written, awaited, after):
    """``written`` before and ``after`` it is known which rows of db1 are ``awaited``: writer, node, length."""

    async def scenario():
        server = MemoryServer()
        mail = Mailbox(server.board("web1"), "web1", "r", room=1000)
        receiving = asyncio.create_task(mail.receive())
        keys = {row("db1", str(node)) for node in awaited}
        newest = {}
        for number, (writer, node, size) in enumerate(written):
            if number == after:
                await asyncio.sleep(1)
                assert sum(len(each.key) + len(each.value) for each in mail.unread) <= 1000
                await mail.await_rows(keys)
            newest[row(writer, str(node))] = value = b"%d " % number + b"x" * size
            await server.board(writer).put(row(writer, str(node)), value)
        await asyncio.sleep(1)
        if after >= len(written):
            await mail.await_rows(keys)
        receiving.cancel()
        last = {each.key: each.value for each in mail.unread}
        assert last == {key: value for key, value in newest.items() if key in keys}

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(scenario())


async def test_kinds_are_handed_out_by_revision_whatever_is_flooded():
    server = MemoryServer()
    mail = Mailbox(server.board("web1"), "web1", "r", room=50)
    receiving = asyncio.create_task(mail.receive())
    for number in range(100):
        await server.board("bad1").put(row("bad1", str(number)), b"x" * 100)
    await server.board("db1").put(row("db1", "0"), b"ended")
    await server.board().put(subjects.lost("web1", "r", "db1"), b"lost")
    await mail.await_rows([row("db1", "0")])
    found = mail.entries(subjects.ROW, "lost")
    assert [(await anext(found)).value, (await anext(found)).value] == [b"ended", b"lost"]
    receiving.cancel()
