"""Parts of a fleet with real engines: the rows are the same as on one host."""

import asyncio

import pytest
from drawn_parts import parts, parts_of
from fake_host import VirtualLoop, local_engine
from fake_station import comparable, host_of, run_alone
from fleets import OUTCOMES, Fleet, fleets, run_fleet
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncstate.model.event import ChunkReady
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.engine import RunOptions


@pytest.mark.parametrize("aggregated", [None, True])
def test_a_group_does_not_wait_for_what_its_members_need_of_other_hosts(aggregated):
    """A state of another host stands between two packages that would share one call: nobody waits for ever."""

    def state(function, name, order, **requisites):
        module, _, fun = function.partition(".")
        arguments = [fun, {"name": name}, {"order": 10000 + order}, *({kind: of} for kind, of in requisites.items())]
        return {module: arguments, "__sls__": "a", "__env__": "base"}

    names = {
        "p": state("pkg.installed", "a-p", 0),
        "q": state("pkg.installed", "a-q", 1),
        "r": state("pkg.installed", "a-r", 2),
    }
    between = {"require": [{"host": "one", "pkg": "p"}], "require_in": [{"host": "one", "pkg": "q"}]}
    parts = parts_of(
        {"one": names, "two": {"x": state("file.managed", "/etc/x", 0, **between)}},
        state_aggregate=aggregated,
        implicit_order="footprint",
    )
    assert [node.members for node in parts["one"].plan.nodes if node.kind is NodeKind.GROUP] == [(0, 1, 2)]
    told = run_fleet(parts, lambda _: Outcome(result=True, changed=True))
    assert sorted(told.runs) == ["p", "q", "r", "x"]
    assert told.shared == [["p", "r"]]


@settings(max_examples=100)
@given(parts(), st.randoms())
def test_hosts_that_wait_for_one_another_all_end(parts, chance):
    run_fleet(parts, lambda _: Outcome(result=chance.random() < 0.9, changed=True), chance.randrange)


class Exchange:
    """The states of other hosts that end, for one host, as they arrive: late, and some of them twice."""

    def __init__(self, part, peers):
        self.part = part
        self.peers = peers
        self.arrived = asyncio.Queue()
        self.ends = []
        self.rows = {}

    async def outcomes(self):
        while True:
            node, outcome = await self.arrived.get()
            await asyncio.sleep(0.5)
            yield node, outcome
            yield node, outcome

    def words(self, nodes):
        return ""

    def ended(self, node, outcome):
        self.ends.append(node)
        name, readers = next(
            ((name, readers) for name, (each, readers) in self.part.read.items() if each == node), ("", ())
        )
        for reader in readers:
            peer = self.peers[reader]
            peer.arrived.put_nowait((peer.part.remote[self.host, name], outcome))


def run_parts(parts, outcome_of, concurrency=1, observe=None):
    async def run_all():
        peers = {}
        for name, part in parts.items():
            peers[name] = Exchange(part, peers)
            peers[name].host = name
        engines = [
            local_engine(
                part.plan,
                host_of(outcome_of),
                RunOptions(run_id=name, concurrency=concurrency),
                [observe] if observe else (),
                elsewhere=peers[name],
            )
            for name, part in parts.items()
        ]
        return dict(zip(parts, await asyncio.gather(*(engine.run() for engine in engines)), strict=True))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run_all())


@settings(max_examples=25)
@given(fleets(most=6), st.data(), st.sampled_from([1, 4]))
def test_the_rows_of_a_fleet_are_those_of_one_host(fleet, data, concurrency):
    outcomes = {id_: data.draw(OUTCOMES) for id_, _, _ in fleet.states}
    alone = run_alone(fleet, outcomes.__getitem__)
    reports = run_parts(fleet.parts(), outcomes.__getitem__, concurrency)
    rows = {tag: each for report in reports.values() for tag, each in report.rows.items()}
    assert comparable(rows) == comparable(alone.rows)
    assert sum(len(report.rows) for report in reports.values()) == len(alone.rows)


GOOD = Outcome(result=True, changed=True)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_waiting_for_other_hosts_takes_no_slot(concurrency):
    """Each host waits for the other, twice; with one slot it can do so only if the wait leaves the slot free."""
    states = [
        (f"s{number}", "ab"[number % 2], [("require", f"s{number - 1}", False)] if number else [])
        for number in range(6)
    ]
    events = []
    reports = run_parts(Fleet(states).parts(), lambda _: GOOD, concurrency, events.append)
    assert [len(report.rows) for report in reports.values()] == [3, 3]
    ready = {event.tag.split("_|-")[1]: event for event in events if isinstance(event, ChunkReady)}
    assert ready["s3"].after == "a: test_|-s2_|-s2_|-nop"
    assert ready["s3"].because == ("require",)


def test_a_run_that_is_stopped_waits_for_nobody():
    part = Fleet([("a", "h1", []), ("b", "h2", [("require", "a", False)])]).parts()["h2"]

    class Silent:
        def __init__(self):
            self.rows = {}

        async def outcomes(self):
            await asyncio.Event().wait()
            yield 0, GOOD

        def ended(self, node, outcome):
            raise AssertionError

    async def run():
        engine = local_engine(part.plan, host_of(lambda _: GOOD), RunOptions(run_id="r"), elsewhere=Silent())
        asyncio.get_running_loop().call_later(5, engine.stop, "enough")
        return await engine.run()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        report = runner.run(run())
    assert report.cancelled == "enough"
    assert report.not_started == ("test_|-b_|-b_|-nop",)


def test_a_failhard_waits_for_nobody():
    fleet = Fleet([("a", "h1", []), ("x", "h2", []), ("b", "h2", [("require", "a", False)])])
    part = fleet.parts()["h2"]

    async def run():
        options = RunOptions(run_id="r", failhard=True)
        exchange = Exchange(part, {})
        engine = local_engine(
            part.plan, host_of(lambda _: Outcome(result=False, changed=False)), options, elsewhere=exchange
        )
        return await engine.run()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        report = runner.run(run())
    assert report.not_started == ("test_|-b_|-b_|-nop",)


def test_a_plan_that_waits_for_others_does_not_run_without_them():
    part = Fleet([("a", "h1", []), ("b", "h2", [("require", "a", False)])]).parts()["h2"]
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, pytest.raises(ValueError, match="other hosts"):
        runner.run(local_engine(part.plan, host_of(lambda _: GOOD), RunOptions(run_id="r")).run())
