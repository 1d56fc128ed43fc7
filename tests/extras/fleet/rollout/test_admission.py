"""Roll-outs: the number of hosts under way, their order, and the hosts left out once too many have failed."""

import asyncio

import pytest
from fake_station import comparable
from fleet_world import BAD, CHAIN, GOOD, Gathered, World, play
from fleets import OUTCOMES, Fleet, fleets
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.records import find_record
from asyncstate.extras.fleet.controller.sender import Sender
from asyncstate.extras.fleet.protocol import HostPlan, Report, Rollout, RunRecord, decode
from asyncstate.extras.fleet.rollout.admission import (
    Admission,
    count_of,
    described,
    lanes_without_states,
    notes,
    turns_of,
)
from asyncstate.model.dag import Dag

FOUR = Fleet([(f"s{number}", f"web{number}", []) for number in range(4)])


class UnderWay:
    """Which hosts of a world are under way, and how many were at most: from their go to their last report."""

    def __init__(self, world):
        self.now, self.most, self.begun = set(), 0, []
        self._put, self._publish = world.server.put, world.server.publish
        world.server.put, world.server.publish = self.put, self.publish

    def put(self, key, value):
        kind, host, *_ = subjects.parts(key)
        if kind == "go" and host not in self.begun:
            self.begun.append(host)
            self.now.add(host)
            self.most = max(self.most, len(self.now))
        self._put(key, value)

    def publish(self, subject, data, id):
        kind, host, *_ = subjects.parts(subject)
        if kind == "report" and decode(data, Report).ended:
            self.now.discard(host)
        self._publish(subject, data, id)


def rolled_out(fleet, outcome_of=lambda _: GOOD, away=(), seconds=1.0, **asked):
    async def scenario():
        world = World(fleet, outcome_of)
        for host in world.hosts.values():
            host.seconds = seconds
        under_way = UnderWay(world)
        world.start(*[host for host in world.hosts if host not in away])
        end = await world.drive(rollout=Rollout(**asked), target=f"L@{','.join(fleet.hosts)}")
        await world.close()
        return world, end, under_way

    return play(scenario())


def whys(end):
    return {host: each.why for host, each in end.hosts.items() if each.exit_code}


# how many at once


@settings(max_examples=15, deadline=None)
@given(fleets(most=6), st.data(), st.integers(1, 3))
def test_no_more_hosts_than_the_batch_are_under_way_and_the_rows_are_the_same(fleet, data, batch):
    fleet.listens.clear()
    outcomes = {id_: data.draw(OUTCOMES) for id_, _, _ in fleet.states}
    plain, _, _ = rolled_out(fleet, outcomes.__getitem__)
    world, end, under_way = rolled_out(fleet, outcomes.__getitem__, batch=str(batch))
    largest = max(map(len, decode(world.server.values("run.r1")[0].value, RunRecord).turns))
    assert under_way.most <= max(batch, largest)
    assert set(under_way.begun) == set(end.hosts) == set(fleet.hosts)
    rows, alone = ({h: comparable(r) for h, r in each.gathered.rows().items()} for each in (world, plain))
    assert rows == alone


@settings(max_examples=15, deadline=None)
@given(fleets(most=6), st.integers(1, 2), st.floats(0, 25), st.floats(0, 30), st.integers(0, 9))
def test_a_controller_killed_at_any_point_is_replaced_and_no_batch_is_overfull(fleet, batch, after, away, seed):
    fleet.listens.clear()

    async def scenario():
        world = World(fleet, seed=seed, slow=0.5)
        under_way = UnderWay(world)
        world.start()
        await asyncio.sleep(5)
        asked = {"rollout": Rollout(batch=str(batch))}
        first = asyncio.create_task(world.controller(**asked).drive())
        await asyncio.wait([first], timeout=after)
        first.cancel()
        await asyncio.sleep(away)
        world.gathered = Gathered()
        try:
            record = await find_record(world.server.board(), "r")
        except FleetError:
            return world, None, under_way, None
        end = await world.controller(**asked).take_up(record) if record.ended is None else None
        await world.close()
        return world, end, under_way, await find_record(world.server.board(), "r")

    world, end, under_way, record = play(scenario())
    if record is None:
        return
    assert under_way.most <= max([batch, *map(len, record.turns)])
    assert len(world.ran()) == len(set(world.ran()))
    assert record.ended is not None
    for host, each in end.hosts.items() if end is not None else ():
        assert each.why or len(world.gathered.rows()[host]) == len(world.hosts[host].plan.chunks)


def test_hosts_begin_one_after_the_other_those_that_are_waited_for_first():
    _, end, under_way = rolled_out(Fleet(CHAIN), batch="1")
    assert (end.exit_code, under_way.begun, under_way.most) == (0, ["db1", "web1", "lb1"], 1)


def test_a_batch_moves_on_when_one_host_ends():
    _, _, under_way = rolled_out(FOUR, batch="50%")
    assert (under_way.begun, under_way.most) == (["web0", "web1", "web2", "web3"], 2)


def test_hosts_that_wait_for_each_other_begin_together_and_the_operator_is_told_before():
    ring = [("a", "h1", []), ("b", "h2", [("require", "a", False)]), ("c", "h1", [("require", "b", False)])]
    world, end, under_way = rolled_out(Fleet([*ring, ("d", "a1", []), ("e", "z1", [])]), batch="1")
    assert end.exit_code == 0
    assert under_way.begun == ["a1", "h1", "h2", "z1"]
    assert under_way.most == 2
    assert world.gathered.notes == ["2 hosts wait for each other and begin together, though the batch is 1: h1, h2"]


@pytest.mark.parametrize(
    ("text", "hosts", "least", "number"),
    [("2", 10, 1, 2), ("10%", 25, 1, 2), ("10%", 5, 1, 1), ("10%", 5, 0, 0), ("100%", 7, 1, 7), (" 0 ", 7, 0, 0)],
)
def test_numbers_and_percentages(text, hosts, least, number):
    assert count_of("batch", text, hosts, least=least) == number


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "0%", "101%", "2 hosts", "10 %"])
def test_what_is_no_number_of_hosts_is_refused_before_anybody_is_asked(text):
    with pytest.raises(FleetError, match="batch: expected a number from 1 on or a percentage of hosts, 2 or 10%, got "):
        count_of("batch", text, 5, least=1)
    if text:
        with pytest.raises(FleetError, match="batch: "):
            rolled_out(FOUR, batch=text)


def test_a_lane_without_states_has_words():
    plans = [HostPlan(nonce="n", lanes=((0, "migrations"), (1, "db"))), HostPlan(nonce="n")]
    assert lanes_without_states(["migrations", "migration", "zzzzzz"], plans) == [
        "no state of this run is in lane 'migration': did you mean 'migrations'?",
        "no state of this run is in lane 'zzzzzz': its lanes are db, migrations",
    ]
    assert lanes_without_states(["x"], plans[1:]) == ["no state of this run is in lane 'x': no state has a fleet_lane"]


# who goes first


def test_others_begin_once_all_canaries_have_ended():
    world, end, under_way = rolled_out(FOUR, canary="L@web2,web3", batch="2")
    assert end.exit_code == 0
    assert under_way.begun == ["web2", "web3", "web0", "web1"]
    ends = [what for what in world.trace if what[0] == "start" or what[1] in ("s2", "s3")]
    assert set(ends[:4]) == {("start", "s2"), ("start", "s3"), ("end", "s2"), ("end", "s3")}


@pytest.mark.parametrize(
    ("away", "outcome", "words"),
    [((), BAD, "did not begin: canary web2 failed"), (("web2",), GOOD, "did not begin: canary web2 failed")],
)
def test_if_a_canary_fails_or_does_not_answer_the_others_do_not_begin(away, outcome, words):
    world, end, under_way = rolled_out(FOUR, lambda _: outcome, away=away, canary="web2")
    assert end.exit_code == 2
    assert under_way.begun == ([] if away else ["web2"])
    assert {host: each.why for host, each in end.hosts.items() if host != "web2"} == dict.fromkeys(
        ("web0", "web1", "web3"), words
    )
    assert decode(world.server.values("run.r1")[0].value, RunRecord).halted == "canary web2 failed"


def test_a_lost_canary_halts_the_run_and_does_not_go_on_when_it_is_back():
    async def scenario():
        world = World(FOUR)
        world.hosts["web2"].seconds = 50.0
        world.start()
        running = asyncio.create_task(world.drive(rollout=Rollout(canary="web2")))
        await asyncio.sleep(10)
        await world.hosts["web2"].kill()
        end = await running
        world.start("web2")
        await asyncio.sleep(300)
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.hosts["web2"].why.startswith("lost: ")
    assert end.hosts["web0"].why == "did not begin: canary web2 failed"
    assert world.ran() == []


def test_a_canary_that_waits_for_a_host_that_is_none_is_an_error_before_anything_starts():
    world, end, under_way = rolled_out(Fleet(CHAIN), canary="web1")
    assert end.exit_code == 1
    [issue] = end.issues
    assert issue.message == (
        "Canary web1 would wait for ever: its state s:b waits for s:a of host db1 (require), which begins only once "
        "all canaries have ended"
    )
    assert (issue.file, issue.code) == ("web1", "E313")
    assert issue.hint == "make db1 a canary, too, or web1 none"
    assert under_way.begun == world.ran() == []


def test_a_canary_that_fits_no_host_is_refused_with_the_nearest():
    with pytest.raises(FleetError, match="no host of the run fits canary 'wbe1': did you mean 'web1'"):
        rolled_out(FOUR, canary="wbe1")


# what is left out


def test_once_more_hosts_have_failed_than_may_nothing_more_begins():
    _, end, under_way = rolled_out(FOUR, lambda id_: GOOD if id_ == "s0" else BAD, batch="1", max_failures="1")
    assert end.exit_code == 2
    assert under_way.begun == ["web0", "web1", "web2"]
    assert end.hosts["web3"].why == "did not begin: 2 hosts (web1, web2) have failed, and max_failures is 1"


def test_hosts_under_way_start_nothing_more_as_soon_as_a_state_has_failed():
    fleet = Fleet(
        [("bad", "web1", []), ("slow", "web1", [("onfail", "bad", False)])]
        + [(f"s{number}", "web2", [("require", f"s{number - 1}", False)] if number else []) for number in range(9)]
    )
    world, end, _ = rolled_out(fleet, lambda id_: BAD if id_ == "bad" else GOOD, seconds=5.0, max_failures="0")
    assert end.exit_code == 2
    assert len(world.hosts["web2"].ran) < 4


def test_hosts_that_do_not_answer_count_and_then_nothing_begins():
    _, end, under_way = rolled_out(FOUR, away=("web0", "web1"), max_failures="1")
    assert under_way.begun == []
    assert end.hosts["web3"].why == "did not begin: 2 hosts (web0, web1) have failed, and max_failures is 1"
    assert end.exit_code == 2


def test_without_a_limit_all_hosts_begin_whatever_fails():
    _, end, under_way = rolled_out(FOUR, lambda _: BAD, batch="2")
    assert end.exit_code == 2
    assert len(under_way.begun) == 4


def test_a_host_that_waits_for_its_turn_waits_as_long_as_there_is_a_controller():
    _, end, under_way = rolled_out(FOUR, seconds=300.0, batch="1")
    assert end.exit_code == 0
    assert len(under_way.begun) == 4


def test_hosts_whose_turn_never_comes_end_once_there_is_no_controller():
    async def scenario():
        world = World(FOUR)
        world.start()
        running = asyncio.create_task(world.drive(rollout=Rollout(batch="1")))
        await asyncio.sleep(3)
        running.cancel()
        await asyncio.sleep(300)
        waited = {name: kept.ended for name, host in world.hosts.items() for kept in host.memory.kept.values()}
        await world.close()
        return waited

    waited = play(scenario())
    assert waited["web3"] == "there was no go, and no sign of the controller for 120 s"


def test_a_lost_host_gives_its_place_to_another_and_is_out_of_the_run():
    async def scenario():
        world = World(FOUR)
        world.hosts["web0"].seconds = 100.0
        world.start()
        running = asyncio.create_task(world.drive(rollout=Rollout(batch="1")))
        await asyncio.sleep(10)
        await world.hosts["web0"].kill()
        await asyncio.sleep(20)
        world.start("web0")
        end = await running
        await asyncio.sleep(300)
        await world.close()
        return world, end

    world, end = play(scenario())
    assert whys(end).keys() == {"web0"}
    assert [id_ for _, id_ in world.ran()] == ["s1", "s2", "s3"]


# the pure part


def graph(size, *edges):
    dag = Dag(size)
    for before, after in edges:
        dag.add(before, after, "")
    return dag


def test_turns_are_in_topological_order_canaries_first_and_else_by_name():
    hosts = ["a", "b", "c", "d"]
    assert turns_of(graph(4), hosts, []) == (("a",), ("b",), ("c",), ("d",))
    assert turns_of(graph(4, (3, 0)), hosts, ["c"]) == (("c",), ("b",), ("d",), ("a",))
    assert turns_of(graph(4, (3, 0), (0, 1), (1, 3)), hosts, []) == (("a", "b", "d"), ("c",))
    through = graph(5, (2, 4), (4, 0), (4, 1))  # node 4 is no host
    assert turns_of(through, hosts, []) == (("c",), ("a",), ("b",), ("d",))


def test_what_an_earlier_controller_let_begin_is_under_way_with_all_of_its_turn():
    admission = Admission([("a",), ("b", "c"), ("d",)], batch=2)
    assert admission.began({"a", "b"}) == ["a", "b", "c"]
    assert admission.next() == []
    admission.over("a", failed=False)
    assert admission.next() == []
    admission.over("b", failed=False)
    assert admission.next() == ["d"]


def test_a_host_whose_failure_was_made_up_for_does_not_count():
    admission = Admission([("a",), ("b",), ("c",)], batch=1, most=1)
    assert admission.next() == ["a"]
    admission.failed("a")
    admission.over("a", failed=False)
    assert admission.next() == ["b"]
    admission.over("b", failed=True)
    assert admission.next() == ["c"]
    assert admission.halted == ""


def test_a_roll_out_in_words():
    assert described(Rollout()) == ""
    assert described(Rollout(batch="10%", canary="web1", max_failures="0")) == "batch 10%, canary web1, max_failures 0"
    assert notes([("a", "b"), ("c",)], 2) == notes([("a", "b")], 0) == []


@pytest.mark.parametrize("by_another", [False, True])
def test_a_cancelled_roll_out_ends_hosts_whose_turn_has_not_come(by_another):
    async def scenario():
        world = World(FOUR)
        for host in world.hosts.values():
            host.seconds = 20.0
        world.start()
        await asyncio.sleep(1)
        controller = world.controller(rollout=Rollout(batch="1"))
        running = asyncio.create_task(controller.drive())
        await asyncio.sleep(10)
        if by_another:
            await Sender(world.server.board(), world.seal, "r1").stop(list(world.hosts), "enough")
        else:
            controller.cancel("SIGINT")
        end = await running
        await world.close()
        return world, end

    world, end = play(scenario())
    assert world.ran() == [("r1", "s0")]
    assert end.exit_code == (2 if by_another else 130)
    assert {host: each.why for host, each in end.hosts.items() if each.why} == dict.fromkeys(
        ("web1", "web2", "web3"), "enough" if by_another else "SIGINT"
    )
