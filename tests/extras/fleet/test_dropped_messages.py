"""A run ends although the server has dropped messages of hosts before their readers took them.

The stream of answers drops its oldest entries when a host writes too many. Listeners receive them before that; here,
absent parties do not.
"""

import asyncio

import pytest
from fleet_world import CHAIN, Gathered, World, comments, play
from fleets import Fleet
from memory_board import MemoryServer

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.records import find_record
from asyncstate.extras.fleet.errors import BoardRefused
from asyncstate.extras.fleet.protocol import Report, decode


def drop(world, pattern):
    """Drop what the server has, as it does when its stream is full."""
    found = world.server.values(pattern)
    for entry in found:
        world.server.forget(entry.key)
    return len(found)


async def until(condition):
    while not condition():  # noqa: ASYNC110 - the clock is virtual
        await asyncio.sleep(0.5)


@pytest.mark.parametrize("kept", [False, True])
def test_a_row_that_its_reader_never_heard_of_fails_what_waits_for_it(kept):
    """The reader is away when the row comes, and the row is gone when it is back."""

    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 12.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(10)
        await world.hosts["web1"].kill()
        await until(lambda: world.server.values(subjects.rows("web1", "r1")))
        assert kept or drop(world, subjects.rows("web1", "r1"))
        world.start("web1")
        end = await running
        await world.close()
        return world, end

    world, end = play(scenario())
    assert {host: each.why for host, each in end.hosts.items()} == dict.fromkeys(("db1", "lb1", "web1"), "")
    if kept:
        assert end.exit_code == 0
    else:
        assert end.exit_code == 2
        assert "Host db1 ended without it: the server no longer has its result." in comments(world)["web1"]["b"]


def test_a_notice_for_hosts_that_wait_takes_nothing_from_those_whose_rows_are_there():
    """A state runs for long, and nobody reports anything meanwhile."""

    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["web1"].seconds = 300.0
        world.start()
        end = await world.drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.exit_code == 0
    assert len(world.ran()) == 3


def test_a_barrier_that_was_reached_unheard_opens():
    async def scenario():
        args = {"a": {"fleet_order": 10}, "b": {"fleet_order": 20}, "c": {"fleet_order": 10}, "d": {"fleet_order": 20}}
        world = World(Fleet([("a", "db1", []), ("b", "db1", []), ("c", "web1", []), ("d", "web1", [])], args=args))
        world.hosts["db1"].seconds = 20.0
        world.start()
        await asyncio.sleep(1)
        first = asyncio.create_task(world.controller().drive())
        await asyncio.sleep(8)
        first.cancel()
        await until(lambda: len(world.server.values(subjects.all_reached("r1"))) == 2)
        drop(world, subjects.all_reached("r1"))
        end = await world.controller().take_up(await find_record(world.server.board(), "r1"))
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.exit_code == 0
    assert len(world.ran()) == 4


class _NoReports(MemoryServer):
    """It has no room for reports."""

    def publish(self, subject, data, id):
        if subjects.kind(subject) == "report":
            raise BoardRefused("its stream is full")
        super().publish(subject, data, id)


class _UnheardEnds(MemoryServer):
    """It stores last reports, but its readers do not hear of them."""

    def publish(self, subject, data, id):
        readers = self._readers
        if subjects.kind(subject) == "report" and decode(data, Report).ended:
            self._readers = []
        super().publish(subject, data, id)
        self._readers = readers


def test_a_last_report_that_was_lost_on_the_way_is_looked_for():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.server = _UnheardEnds()
        world.start()
        end = await world.drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    assert {each.why for each in end.hosts.values()} == {""}
    assert end.exit_code == 0
    assert len(world.ran()) == 3


@pytest.mark.parametrize("dropped", [False, True])
def test_a_host_whose_last_report_is_gone_has_ended(dropped):
    async def scenario():
        world = World(Fleet(CHAIN))
        world.server = _NoReports()
        world.start()
        await asyncio.sleep(1)
        first = asyncio.create_task(world.controller().drive())
        await asyncio.sleep(4)
        first.cancel()
        await until(lambda: len(world.server.values(subjects.ends("r1"))) == 3)
        assert not dropped or drop(world, subjects.ends("r1"))
        world.gathered = Gathered()
        end = await world.controller().take_up(await find_record(world.server.board(), "r1"))
        await world.close()
        return end

    end = play(scenario())
    words = "its part is over, but the server no longer has its last report" if dropped else ""
    assert {each.why for each in end.hosts.values()} == {words}
    assert end.exit_code == (2 if dropped else 0)
