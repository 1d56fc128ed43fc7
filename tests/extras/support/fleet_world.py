"""A fleet in this process, on a virtual clock: its hosts, its board and its controllers."""

from __future__ import annotations

import asyncio

from fake_host import VirtualLoop
from fake_station import FakeHostOfFleet
from memory_board import MemoryServer, Seal

from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.model.result import Outcome
from asyncstate.report.recorded import RecordedReport

GOOD = Outcome(result=True, changed=True)
BAD = Outcome(result=False, changed=False)
CHAIN = [("a", "db1", []), ("b", "web1", [("require", "a", False)]), ("c", "lb1", [("require", "b", False)])]


class Gathered(Observer):
    def __init__(self):
        self.reports = {}
        self.losses = []
        self.notes = []

    def noted(self, words):
        self.notes.append(words)

    def begun(self, host, attempt):
        self.reports[host] = RecordedReport()

    def event(self, host, event):
        self.reports[host].on_event(event)

    def lost(self, host, seconds):
        self.losses.append(host)

    def rows(self):
        return {host: recorded.report().rows for host, recorded in sorted(self.reports.items())}


class World:
    """A fleet, its hosts and its board. ``trace`` has the starts and ends of states, in order: "start" or "end", the ID."""

    def __init__(self, fleet, outcome_of=lambda _: GOOD, **faults):
        self.server = MemoryServer(**faults)
        self.seal = Seal()
        self.hosts = {host: FakeHostOfFleet(host, fleet.plan(host), outcome_of) for host in fleet.hosts}
        self.gathered = Gathered()
        self.agents = {}
        self.trace = []
        for host in self.hosts.values():
            host.trace = self.trace

    def start(self, *names):
        for name in names or self.hosts:
            self.agents[name] = self.hosts[name].start(self.server, self.seal)

    def controller(self, run="r1", **request):
        asked = {"target": "*", "deadline": 30.0, "patience": 120.0, **request}
        return Controller(self.server.board(), self.seal, run, Request(**asked), self.gathered, wall=lambda: 0.0)

    async def drive(self, **request):
        await asyncio.sleep(1 + 10 * self.server.slow)
        return await self.controller(**request).drive()

    async def close(self):
        for task in self.agents.values():
            task.cancel()
        if self.agents:
            await asyncio.wait(self.agents.values())

    def ran(self):
        return [each for host in self.hosts.values() for each in host.ran]


def play(scenario):
    """Run a scenario on the virtual clock; an hour is for ever."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(asyncio.wait_for(scenario, 3600))


async def plain(world, **request):
    world.start()
    try:
        return await world.drive(**request)
    finally:
        await world.close()


def comments(world):
    return {
        host: {tag.split("_|-")[1]: row["comment"] for tag, row in rows.items()}
        for host, rows in world.gathered.rows().items()
    }
