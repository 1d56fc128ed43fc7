"""A connection begins or says why not, whatever the server does first."""

import asyncio

import pytest

from asyncstate.errors import BoardError
from asyncstate.fleet import subjects
from asyncstate.fleet.nats.connection import Connection


async def test_a_server_that_closes_before_it_says_why_is_asked_again(hosts):
    """A server that refuses a key says so and closes at once; what it said can be lost."""
    calls = []

    async def reset(_reader, writer):
        calls.append(1)
        writer.transport.abort()

    listening = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(BoardError, match=f"no server of the fleet answers at tls://127.0.0.1:{port}"):
            async with Connection(f"tls://127.0.0.1:{port}", hosts[0], give_up=1):
                pass
    assert calls


async def test_a_connection_that_breaks_at_its_beginning_is_made_again(fleet, hosts):
    """The first is reset after the greeting, the second reaches the server."""
    real = int(fleet.url.rpartition(":")[2])
    calls = []

    async def passed_on(reader, writer):
        calls.append(1)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", real)
        if len(calls) == 1:
            writer.write(await far_reader.readline())
            await writer.drain()
            await reader.read(1)
            writer.transport.abort()
            far_writer.close()
            return

        async def flow(source, target):
            while data := await source.read(65536):
                target.write(data)
            target.close()

        await asyncio.gather(flow(reader, far_writer), flow(far_reader, writer), return_exceptions=True)

    listening = await asyncio.start_server(passed_on, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        async with fleet.board(hosts[0], url=f"tls://127.0.0.1:{port}") as board:
            await board.put(subjects.lease(hosts[0].name), b"there")
            assert await board.get(subjects.lease(hosts[0].name)) == b"there"
    assert len(calls) == 2
