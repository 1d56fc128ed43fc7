"""The promises of `asyncstate.extras.fleet.board.Board`, on the real server and on the board in this process."""

import asyncio
import itertools
from types import SimpleNamespace

import pytest

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.local_board import LocalStore


class LocalPlace:
    """Two hosts and an operator, as the fixtures ``fleet`` and ``hosts`` have them."""

    def __init__(self):
        self.hosts = [SimpleNamespace(name=f"{name}.example.com") for name in ("a", "b")]
        self._server = LocalStore()

    def board(self, host=None):
        return self._server.board(host and host.name)


@pytest.fixture(params=["nats", "local"])
def place(request):
    if request.param == "local":
        return LocalPlace()
    return SimpleNamespace(board=request.getfixturevalue("fleet").board, hosts=request.getfixturevalue("hosts"))


_runs = itertools.count()


@pytest.fixture
def run():
    return f"board{next(_runs)}"


async def first(iterator, number):
    """Return the next so many of an endless iterator."""
    found = []
    async with asyncio.timeout(60):
        while len(found) < number:
            found.append(await anext(iterator))
    return found


async def test_a_key_has_its_last_value(place, run):
    a = place.hosts[0].name
    async with place.board() as operator, place.board(place.hosts[0]) as host:
        key = subjects.plan(a, run)
        assert await operator.get(key) is None
        for value in (b"", b"one", bytes(range(256)) * 5000):
            await host.put(key, value)
            assert await operator.get(key) == value


async def test_a_watch_yields_what_is_there_then_each_change_in_order(place, run):
    a, b = (each.name for each in place.hosts)
    async with place.board() as operator, place.board(place.hosts[0]) as one, place.board(place.hosts[1]) as other:
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


async def test_several_watches_see_the_same(place, run):
    a = place.hosts[0].name
    async with place.board() as operator, place.board(place.hosts[0]) as host:
        watches = [host.watch(subjects.go(a, run)) for _ in range(3)]
        waiting = [asyncio.ensure_future(first(each, 1)) for each in watches]
        await operator.put(subjects.go(a, run), b"go")
        assert [[each.value for each in await found] for found in waiting] == [[b"go"]] * 3
        for each in watches:
            await each.aclose()


async def test_a_slow_reader_gets_the_last_value_of_each_key_at_the_end(place, run):
    a = place.hosts[0].name
    async with place.board() as operator, place.board(place.hosts[0]) as host:
        await operator.put(subjects.stop(a, "other"), b"x")
        watch = operator.watch(subjects.plan(a, run))
        await host.put(subjects.plan(a, run), b"begin")
        assert (await first(watch, 1))[0].value == b"begin"
        for number in range(300):
            await host.put(subjects.plan(a, run), b"%d" % number)
        last = b""
        while last != b"299":
            last = (await first(watch, 1))[0].value
        await watch.aclose()


async def test_messages_come_once_in_order_and_a_repeated_id_is_dropped(place, run):
    a = place.hosts[0].name
    subject = subjects.report(a, run)
    async with place.board() as operator, place.board(place.hosts[0]) as host:
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


async def test_the_same_id_of_two_hosts_is_two_messages(place, run):
    async with place.board() as operator, place.board(place.hosts[0]) as one, place.board(place.hosts[1]) as other:
        await one.publish(subjects.report(place.hosts[0].name, run), b"a", id="same")
        await other.publish(subjects.report(place.hosts[1].name, run), b"b", id="same")
        stream = operator.messages(subjects.reports(run))
        assert [each.data for each in await first(stream, 2)] == [b"a", b"b"]
        await stream.aclose()


async def test_the_values_there_are_now_are_returned_at_once(place, run):
    a, b = (each.name for each in place.hosts)
    async with place.board() as operator, place.board(place.hosts[0]) as one, place.board(place.hosts[1]) as other:
        assert await operator.entries(subjects.plans(run)) == []
        assert await one.entries(subjects.rows(a, run)) == []
        for number in range(100):
            await other.put(subjects.row(a, b, run, str(number % 60)), b"%d" % number)
        found = await one.entries(subjects.rows(a, run))
        assert [int(each.value) for each in found] == list(range(40, 100))
        assert [each.revision for each in found] == sorted({each.revision for each in found})
        await one.put(subjects.plan(a, run), b"a")
        await other.put(subjects.plan(b, run), b"b")
        assert {each.key: each.value for each in await operator.entries(subjects.plans(run))} == {
            subjects.plan(a, run): b"a",
            subjects.plan(b, run): b"b",
        }


async def test_a_host_uses_only_what_is_its_own(place, run):
    a, b = (each.name for each in place.hosts)
    async with place.board(place.hosts[0]) as host:
        for key in (subjects.plan(b, run), subjects.go(a, run), subjects.row(a, b, run, "1"), subjects.run(run)):
            with pytest.raises(BoardError):
                await asyncio.wait_for(host.put(key, b"x"), 60)
        for pattern in (subjects.go(b, run), subjects.rows(b, run), "to.>", "*.>", "report.>"):
            with pytest.raises(BoardError):
                await asyncio.wait_for(host.entries(pattern), 60)
            with pytest.raises(BoardError):
                await asyncio.wait_for(anext(host.watch(pattern)), 60)
        with pytest.raises(BoardError):
            await asyncio.wait_for(host.publish(subjects.report(b, run), b"x", id="1"), 60)
