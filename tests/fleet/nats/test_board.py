"""What `asyncstate.fleet.board.Board` promises, kept by a real server. The tests' own board is held to the same."""

import asyncio
import itertools

import pytest

from asyncstate.errors import BoardError
from asyncstate.fleet import subjects


async def first(iterator, number):
    """Return the next so many of an endless iterator."""
    found = []
    async with asyncio.timeout(60):
        while len(found) < number:
            found.append(await anext(iterator))
    return found


@pytest.fixture
def run():
    return f"r{next(_runs)}"


_runs = itertools.count()


async def test_a_key_has_its_last_value(fleet, hosts, run):
    a = hosts[0].name
    async with fleet.board() as operator, fleet.board(hosts[0]) as host:
        key = subjects.plan(a, run)
        assert await operator.get(key) is None
        for value in (b"", b"one", bytes(range(256)) * 5000):
            await host.put(key, value)
            assert await operator.get(key) == value
            assert await host.get(key) == value


async def test_a_watch_yields_what_is_there_then_each_change_in_order(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    async with fleet.board() as operator, fleet.board(hosts[0]) as one, fleet.board(hosts[1]) as other:
        await operator.put(subjects.go(b, run), b"not for a")
        await other.put(subjects.row(a, b, run, "1"), b"first")
        await other.put(subjects.row(a, b, run, "2"), b"old")
        await other.put(subjects.row(a, b, run, "2"), b"second")
        rows = one.watch(subjects.rows(a, run))
        found = await first(rows, 2)
        assert [(each.key, each.value) for each in found] == [
            (subjects.row(a, b, run, "1"), b"first"),
            (subjects.row(a, b, run, "2"), b"second"),
        ]
        await other.put(subjects.row(b, b, run, "3"), b"not for a, either")
        for number in range(300):
            await other.put(subjects.row(a, b, run, f"n{number}"), b"%d" % number)
        found += await first(rows, 300)
        assert [each.value for each in found[2:]] == [b"%d" % number for number in range(300)]
        assert [each.revision for each in found] == sorted({each.revision for each in found})
        await rows.aclose()


async def test_several_watches_see_the_same(fleet, hosts, run):
    a = hosts[0].name
    async with fleet.board() as operator, fleet.board(hosts[0]) as host:
        watches = [host.watch(f"go.{subjects.token(a)}.>") for _ in range(3)]
        waiting = [asyncio.ensure_future(first(each, 1)) for each in watches]
        await operator.put(subjects.go(a, run), b"go")
        assert [[each.value for each in await found] for found in waiting] == [[b"go"]] * 3
        for each in watches:
            await each.aclose()


async def test_a_slow_reader_gets_the_last_value_of_each_key_at_the_end(fleet, hosts, run):
    a = hosts[0].name
    async with fleet.board() as operator, fleet.board(hosts[0]) as host:
        await operator.put(subjects.stop(a, "other"), b"x")
        watch = operator.watch(f"plan.{subjects.token(a)}.*")
        await host.put(subjects.plan(a, run), b"begin")
        assert (await first(watch, 1))[0].value == b"begin"
        for number in range(700):
            await host.put(subjects.plan(a, run), b"%d" % number)
        last = b""
        while last != b"699":
            last = (await first(watch, 1))[0].value
        await watch.aclose()


async def test_messages_come_once_in_order_and_a_repeated_id_is_dropped(fleet, hosts, run):
    a = hosts[0].name
    subject = subjects.report(a, run)
    async with fleet.board() as operator, fleet.board(hosts[0]) as host:
        for number in (0, 1, 1, 2, 0, 3, 3):
            await host.publish(subject, b"%d" % number, id=f"{run}:{number}")
        stream = operator.messages(subjects.reports(run))
        found = await first(stream, 4)
        assert [each.data for each in found] == [b"0", b"1", b"2", b"3"]
        assert {each.subject for each in found} == {subject}
        await host.publish(subject, b"2", id=f"{run}:2")
        await host.publish(subject, b"4", id=f"{run}:4")
        assert (await first(stream, 1))[0].data == b"4"
        await stream.aclose()
        later = operator.messages(subjects.reports(run), since=found[1].sequence)
        assert [each.data for each in await first(later, 3)] == [b"2", b"3", b"4"]
        await later.aclose()


async def test_the_same_id_of_two_hosts_is_two_messages(fleet, hosts, run):
    async with fleet.board() as operator, fleet.board(hosts[0]) as one, fleet.board(hosts[1]) as other:
        await one.publish(subjects.report(hosts[0].name, run), b"a", id="same")
        await other.publish(subjects.report(hosts[1].name, run), b"b", id="same")
        stream = operator.messages(subjects.reports(run))
        assert [each.data for each in await first(stream, 2)] == [b"a", b"b"]
        await stream.aclose()


async def test_what_a_party_may_not_write_or_read_is_an_error_at_once(fleet, hosts, run):
    a, b = (each.name for each in hosts)
    async with fleet.board(hosts[0]) as host:
        for refused in (
            host.put(subjects.plan(b, run), b"x"),
            host.get(subjects.go(b, run)),
            host.publish(subjects.report(b, run), b"x", id="1"),
            anext(host.watch(f"row.{subjects.token(b)}.>")),
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
        watch = board.watch(f"go.{subjects.token(hosts[0].name)}.*")
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
