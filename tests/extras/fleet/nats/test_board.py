"""Errors of the board on NATS; tests/extras/fleet/test_board.py has its promises."""

import asyncio
import itertools

import pytest

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats import stream
from asyncstate.extras.fleet.nats.answers import answer_of
from asyncstate.extras.fleet.nats.connection import Connection


@pytest.fixture
def run():
    return f"r{next(_runs)}"


_runs = itertools.count()


async def test_what_a_party_may_not_write_or_read_is_an_error_at_once(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0]) as host:
        for refused in (
            host.put(subjects.plan(b, run), b"x"),
            host.get(subjects.go(b, run)),
            host.publish(subjects.report(b, run), b"x", id="1"),
            anext(host.watch(f"to.{subjects.token(b)}.>")),
            anext(host.messages(subjects.reports(run))),
        ):
            with pytest.raises(BoardError, match=f"does not allow {a}"):
                await asyncio.wait_for(refused, 20)
        await host.put(subjects.plan(a, run), b"still connected")


async def test_a_value_that_is_too_large_is_an_error(fleet, hosts, run):
    async with fleet.board(hosts[0]) as host:
        with pytest.raises(BoardError, match="more than the server takes"):
            await host.put(subjects.plan(hosts[0].name, run), bytes((8 << 20) + 1))
        await host.put(subjects.plan(hosts[0].name, run), bytes(8 << 20))


async def test_after_the_end_of_the_connection_there_is_an_error(fleet, hosts, run):
    board = fleet.board(hosts[0])
    with pytest.raises(BoardError, match="not connected"):
        await board.put(subjects.plan(hosts[0].name, run), b"x")
    async with board:
        watch = board.watch(subjects.go(hosts[0].name, run))
        waiting = asyncio.ensure_future(anext(watch))
        await board.put(subjects.plan(hosts[0].name, run), b"x")
    with pytest.raises(BoardError, match="closed"):
        await waiting
    with pytest.raises(BoardError, match="not connected"):
        await board.put(subjects.plan(hosts[0].name, run), b"x")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "tls://", "tls://a:b", "", "127.0.0.1:99999"])
async def test_an_address_that_is_none(fleet, url):
    with pytest.raises(BoardError, match="not the address of a NATS server"):
        async with fleet.board(url=url or " "):
            pass


async def test_the_values_that_keys_have_now(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    async with fleet.board() as operator, fleet.board(hosts[0]) as one, fleet.board(hosts[1]) as other:
        assert await operator.entries(subjects.plans(run)) == []
        await one.put(subjects.plan(a, run), b"old")
        await other.put(subjects.plan(b, run), b"second")
        await one.put(subjects.plan(a, run), b"third")
        found = await operator.entries(subjects.plans(run))
        assert [(each.key, each.value) for each in found] == [
            (subjects.plan(b, run), b"second"),
            (subjects.plan(a, run), b"third"),
        ]


@pytest.mark.parametrize("name", ["control", "data", "archive"])
async def test_each_stream_takes_the_readers_of_a_large_fleet(fleet, name):
    async with fleet.board(), Connection(fleet.url, fleet.folder.operator()) as connection:
        said = answer_of(await connection.request(f"stream.info.{name}", b""))
    assert said["config"]["max_consumers"] == stream.MOST_READERS
