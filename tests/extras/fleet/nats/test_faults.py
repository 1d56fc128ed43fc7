"""Lost messages come again: servers that end, connections that are cut, readers that are slow."""

import asyncio
import itertools
import os
import random
import signal
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta

import pytest
from cut_connection import Line
from fleet_cluster import Cluster
from fleet_server import PATIENCE

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats import access, follower, server, stream

pytestmark = pytest.mark.slow

_runs = itertools.count()


@pytest.fixture
def run():
    return f"fault{next(_runs)}"


@pytest.fixture
async def line(fleet):
    async with Line(int(fleet.url.rpartition(":")[2])) as made:
        yield made


async def first(iterator, number):
    found = []
    async with asyncio.timeout(120):
        while len(found) < number:
            found.append(await anext(iterator))
    return found


async def write_rows(board, writer, reader, run, numbers):
    for number in numbers:
        await board.put(subjects.row(reader, writer, run, f"n{number}"), b"%d" % number)


def once_in_order(entries, number):
    """Each key once, in order, and each revision once. A write that was repeated may come twice with two revisions."""
    revisions = [each.revision for each in entries]
    assert revisions == sorted(set(revisions))
    seen = list(dict.fromkeys(int(each.value) for each in entries))
    assert seen == list(range(number))


async def follow_rows(board, reader, run, number):
    """Follow until each of so many keys was seen."""
    found, keys = [], set()
    watch = board.watch(subjects.rows(reader, run))
    async with asyncio.timeout(120):
        while len(keys) < number:
            found.append(await anext(watch))
            keys.add(found[-1].key)
    await watch.aclose()
    return found


async def test_a_restart_of_the_server_loses_and_repeats_nothing(own_fleet, run):
    a, b = await own_fleet.enrol("a"), await own_fleet.enrol("b")
    async with own_fleet.board(a) as reader, own_fleet.board(b) as writer:
        following = asyncio.ensure_future(follow_rows(reader, "a", run, 60))
        for part in range(3):
            writing = asyncio.ensure_future(write_rows(writer, "b", "a", run, range(20 * part, 20 * part + 20)))
            if part:
                await own_fleet.restart()
            await writing
        once_in_order(await following, 60)
        await writer.publish(subjects.report("b", run), b"before", id="1")
        await own_fleet.restart()
        await writer.publish(subjects.report("b", run), b"again", id="1")
        await writer.publish(subjects.report("b", run), b"after", id="2")
    async with own_fleet.board() as operator:
        messages = operator.messages(subjects.reports(run))
        assert [each.data for each in await first(messages, 2)] == [b"before", b"after"]
        await messages.aclose()


async def test_a_killed_server_has_kept_what_it_acknowledged(own_fleet, run):
    a = await own_fleet.enrol("a")
    async with own_fleet.board(a) as host:
        for number in range(50):
            await host.put(subjects.plan("a", f"{run}{number}"), b"%d" % number)
        os.kill(server.running(own_fleet.folder), signal.SIGKILL)
        assert await asyncio.to_thread(own_fleet._process.wait, PATIENCE) == 1
        await asyncio.to_thread(own_fleet.stop)
        assert "the server ended by itself with code -9" in own_fleet.complaints
        await asyncio.to_thread(own_fleet.start)
        for number in range(50):
            assert await host.get(subjects.plan("a", f"{run}{number}")) == b"%d" % number


async def test_connections_that_are_cut_again_and_again(fleet, hosts, line, run):
    """Reader and writer lose their connections at random moments, with answers on the way."""
    a, b = (each.name for each in hosts)
    chance = random.Random(1)
    ended = asyncio.Event()

    async def cut_at_times():
        while not ended.is_set():
            await asyncio.sleep(chance.uniform(0, 0.4))
            await line.cut()
            await asyncio.sleep(chance.uniform(0, 0.1))
            await line.heal()
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 1.5)

    async with fleet.board(hosts[0], url=line.url) as reader, fleet.board(hosts[1], url=line.url) as writer:
        following = asyncio.ensure_future(follow_rows(reader, a, run, 200))
        cutting = asyncio.ensure_future(cut_at_times())
        for number in range(200):
            await write_rows(writer, b, a, run, [number])
            await asyncio.sleep(0.02)
        for number in range(100):
            await writer.publish(subjects.report(b, run), b"%d" % number, id=f"{number}")
        once_in_order(await following, 200)
        ended.set()
        await cutting
    assert line.cuts > 2
    async with fleet.board() as operator:
        messages = operator.messages(subjects.reports(run))
        assert [int(each.data) for each in await first(messages, 100)] == list(range(100))
        await messages.aclose()


async def test_a_network_that_drops_everything_for_a_while(fleet, hosts, line, run):
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0], url=line.url) as reader, fleet.board(hosts[1]) as writer:
        watch = reader.watch(subjects.rows(a, run))
        await write_rows(writer, b, a, run, range(5))
        found = await first(watch, 5)
        line.stall()
        await write_rows(writer, b, a, run, range(5, 10))
        await asyncio.sleep(3)
        await line.heal()
        once_in_order(found + await first(watch, 5), 10)
        line.stall()
        await write_rows(writer, b, a, run, range(10, 15))
        await asyncio.sleep(1)
        await line.cut()
        await line.heal()
        assert [int(each.value) for each in await first(watch, 5)] == list(range(10, 15))
        await watch.aclose()


async def test_a_server_that_never_comes_back_is_given_up(own_fleet, run):
    a = await own_fleet.enrol("a")
    async with own_fleet.board(a, give_up=2) as host:
        waiting = asyncio.ensure_future(anext(host.watch("to.a.*.go")))
        await host.put(subjects.lease("a"), b"x")
        await asyncio.to_thread(own_fleet.stop)
        for lost in (waiting, host.put(subjects.lease("a"), b"y"), host.get(subjects.lease("a"))):
            with pytest.raises(BoardError, match="answer"):
                await asyncio.wait_for(lost, 60)
    with pytest.raises(BoardError, match="no server of the fleet answers at tls://127"):
        async with own_fleet.board(a):
            pass


async def test_a_revoked_host_is_told_so_while_it_is_connected(fleet, hosts, run):
    async with fleet.board(await fleet.enrol("short")) as host:
        watch = host.watch("to.short.*.go")
        waiting = asyncio.ensure_future(anext(watch))
        await host.put(subjects.lease("short"), b"x")
        await fleet.revoke("short")
        with pytest.raises(BoardError, match="does not know the key"):
            await asyncio.wait_for(waiting, 60)
        with pytest.raises(BoardError, match="does not know the key"):
            await host.put(subjects.lease("short"), b"x")


async def test_enrolling_others_disturbs_nobody(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0]) as reader, fleet.board(hosts[1]) as writer:
        following = asyncio.ensure_future(follow_rows(reader, a, run, 300))
        writing = asyncio.ensure_future(write_rows(writer, b, a, run, range(300)))
        for number in range(3):
            await fleet.enrol(f"other{number}-{run}")
        await writing
        once_in_order(await following, 300)


async def test_a_slow_reader_gets_everything_and_holds_nobody_up(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    size = 20_000
    async with fleet.board(hosts[0]) as reader, fleet.board(hosts[1]) as writer:
        watch = reader.watch(subjects.rows(a, run))
        await writer.put(subjects.row(a, b, run, "n0"), b"0")
        await first(watch, 1)
        for number in range(1, 1000):
            await writer.put(subjects.row(a, b, run, f"n{number}"), str(number).rjust(size).encode())
        found = await first(watch, 999)
        assert [int(each.value) for each in found] == list(range(1, 1000))
        await watch.aclose()


async def test_what_was_not_heard_is_found_by_comparing(fleet, hosts, run, monkeypatch):
    """In a cluster, what a server says may be lost on its way to another one, and no connection with it."""
    monkeypatch.setattr(follower, "_FIRST_COMPARED", 0.2)
    heard = follower._Live.entries

    async def some(live):
        async for entry in heard(live):
            if int(entry.value) % 3:
                yield entry

    monkeypatch.setattr(follower._Live, "entries", some)
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0]) as reader, fleet.board(hosts[1]) as writer:
        watch = reader.watch(subjects.rows(a, run))
        writing = asyncio.ensure_future(write_rows(writer, b, a, run, range(100)))
        found = await first(watch, 100)
        assert sorted(int(each.value) for each in found) == list(range(100))
        await writing
        await watch.aclose()


async def test_a_caller_that_is_too_slow_gets_the_last_value_of_each_key(fleet, hosts, run, monkeypatch):
    monkeypatch.setattr(follower, "_MOST_WAITING", 10)
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0]) as reader, fleet.board(hosts[1]) as writer:
        watch = reader.watch(subjects.rows(a, run))
        await write_rows(writer, b, a, run, range(1))
        found = await first(watch, 1)
        await write_rows(writer, b, a, run, range(1, 100))
        once_in_order(found + await first(watch, 99), 100)
        await watch.aclose()


async def test_old_runs_are_removed_and_what_hosts_say_of_themselves_stays(own_fleet, run):
    a = await own_fleet.enrol("a")
    async with own_fleet.board() as operator, own_fleet.board(a) as host:
        await host.put(subjects.host("a"), b"grains")
        await host.put(subjects.plan("a", "old"), b"plan")
        await host.put(subjects.row("b", "a", "old", "1"), b"row")
        await host.publish(subjects.report("a", "old"), b"report", id="1")
        await operator.put(subjects.offer("a", "old"), b"offer")
        await asyncio.sleep(1.5)
        moment = datetime.now(UTC)
        await asyncio.sleep(0.5)
        await operator.put(subjects.offer("a", "new"), b"offer")
        await host.put(subjects.plan("a", "new"), b"plan")
        await stream.forget_before(operator._connection, moment)
        everything, left = {"subjects_filter": ">"}, set()
        for each in access.STREAMS:
            found = await stream._call(operator._connection, each, "info", everything)
            left |= set(found["state"].get("subjects", ()))
        assert {key.removeprefix("$KV.asyncstate.") for key in left} == {"host.a", "to.a.new.offer", "plan.a.new"}
        await stream.forget_before(operator._connection, datetime.now(UTC) + timedelta(days=1))
        assert await host.get(subjects.plan("a", "new")) is None
        assert await operator.get(subjects.host("a")) == b"grains"


@pytest.fixture
async def cluster(tmp_path, unused_tcp_port_factory):
    made = Cluster(tmp_path, [unused_tcp_port_factory() for _ in range(6)])
    made.a, made.b = made.folder.enrol("a"), made.folder.enrol("b")
    for number in range(3):
        made.start(number)
    try:
        async with asyncio.timeout(120):
            while True:
                with suppress(BoardError):
                    async with made.board():
                        break
                await asyncio.sleep(0.2)
        yield made
    finally:
        made.end_all()


async def test_one_of_three_clustered_servers_is_lost_whichever_it_is(cluster, run):
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(cluster.board())
        reader = await stack.enter_async_context(cluster.board(cluster.a))
        writer = await stack.enter_async_context(cluster.board(cluster.b))
        info = await stream._call(operator._connection, access.CONTROL, "info")
        assert info["config"]["num_replicas"] == 3
        following = asyncio.ensure_future(follow_rows(reader, "a", run, 90))
        for lost in range(3):
            writing = asyncio.ensure_future(write_rows(writer, "b", "a", run, range(30 * lost, 30 * lost + 30)))
            await asyncio.sleep(0.2)
            cluster.end(lost)
            await writing
            await writer.publish(subjects.report("b", run), b"%d" % lost, id=f"{lost}")
            cluster.start(lost)
            await cluster.until_whole()
        once_in_order(await following, 90)
        messages = operator.messages(subjects.reports(run))
        assert [each.data for each in await first(messages, 3)] == [b"0", b"1", b"2"]
        await messages.aclose()
