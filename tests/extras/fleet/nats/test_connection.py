"""A connection is established or fails with a reason, whatever the server does first."""

import asyncio
import ssl

import pytest

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.connection import Connection


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


@pytest.mark.slow
async def test_a_server_that_always_closes_without_a_word_is_told_as_that(fleet, hosts):
    """It may not know the key, or be about to stop: both are said, neither is claimed."""
    real = int(fleet.url.rpartition(":")[2])

    async def greeted(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", real)
        writer.write(await far_reader.readline())
        await writer.drain()
        await reader.read(1)
        writer.transport.abort()
        far_writer.close()

    listening = await asyncio.start_server(greeted, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(BoardError) as caught:
            async with fleet.board(hosts[0], url=f"tls://127.0.0.1:{port}"):
                pass
    said = str(caught.value)
    assert "closed the connection without a word, 5 times" in said
    assert f"when it does not know the key of {hosts[0].name}" in said
    assert "and when it is about to stop. Its log says which." in said


@pytest.mark.slow
async def test_a_patient_party_waits_for_a_server_and_says_so(hosts, fleet, caplog, unused_tcp_port):
    real = int(fleet.url.rpartition(":")[2])
    board = NatsBoard(f"tls://127.0.0.1:{unused_tcp_port}", hosts[0], patient=True)
    connecting = asyncio.ensure_future(board.__aenter__())
    async with asyncio.timeout(60):
        while "Waiting for the server: no server of the fleet answers at" not in caplog.text:  # noqa: ASYNC110 - a log
            await asyncio.sleep(0.05)
    assert not connecting.done()

    async def passed_on(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", real)

        async def flow(source, target):
            while data := await source.read(65536):
                target.write(data)
            target.close()

        await asyncio.gather(flow(reader, far_writer), flow(far_reader, writer), return_exceptions=True)

    async with await asyncio.start_server(passed_on, "127.0.0.1", unused_tcp_port):
        await connecting
        await board.put(subjects.lease(hosts[0].name), b"there")
        await board.__aexit__(None, None, None)
    assert caplog.text.count("Waiting for the server") == 1


class _Refusing:
    """Stands before a real server, and answers some connections that it does not know the key.

    ``refuses`` is how many it will refuse; `cut` says the same to those that are there.
    """

    def __init__(self, fleet):
        self.refuses = 0
        self.calls = 0
        self._real = int(fleet.url.rpartition(":")[2])
        self._own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._own.load_cert_chain(fleet.folder.within("server.pem"), fleet.folder.within("server.key"))
        self._far = ssl.create_default_context(cafile=fleet.folder.within("authority.pem"))
        self._there = set()

    async def serve(self, reader, writer):
        self.calls += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._real)
        try:
            writer.write(await far_reader.readline())
            await writer.start_tls(self._own)
            if self.refuses:
                self.refuses -= 1
                await reader.readuntil(b"PING\r\n")
                self._refuse(writer)
                return
            await far_writer.start_tls(self._far, server_hostname="127.0.0.1")
            self._there.add(writer)
            await asyncio.gather(flow(reader, far_writer), flow(far_reader, writer), return_exceptions=True)
        finally:  # whatever the other side does first
            far_writer.transport.abort()
            writer.close()

    def cut(self):
        while self._there:
            self._refuse(self._there.pop())

    def _refuse(self, writer):
        writer.write(b"-ERR 'Authorization Violation'\r\n")
        writer.close()


async def flow(source, target):
    try:
        while data := await source.read(65536):
            target.write(data)
    finally:
        target.close()


async def test_a_key_that_a_server_does_not_know_for_a_moment_is_shown_again(fleet, hosts):
    """A server that reads its configuration, as it does when a host is enrolled, refuses keys that it knows."""
    refusing = _Refusing(fleet)
    refusing.refuses = 2
    async with await asyncio.start_server(refusing.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with fleet.board(hosts[0], url=f"tls://127.0.0.1:{port}") as board:
            assert refusing.calls == 3
            refusing.refuses = 2
            refusing.cut()
            await board.put(subjects.lease(hosts[0].name), b"there again")
            assert await board.get(subjects.lease(hosts[0].name)) == b"there again"
            assert refusing.calls == 6


@pytest.mark.slow
async def test_a_key_that_is_refused_again_and_again_ends_the_connection(fleet, hosts):
    refusing = _Refusing(fleet)
    async with await asyncio.start_server(refusing.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with fleet.board(hosts[0], url=f"tls://127.0.0.1:{port}") as board:
            refusing.refuses = 1000
            refusing.cut()
            with pytest.raises(BoardError, match=f"does not know the key of {hosts[0].name}"):
                await board.put(subjects.lease(hosts[0].name), b"there")
            with pytest.raises(BoardError, match="does not know the key"):
                await anext(board.watch(subjects.offer(hosts[0].name)))
        assert refusing.calls > 4
