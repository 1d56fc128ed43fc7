"""`fleet_order` and `fleet_lane`: the order of states across hosts, and the number of a lane's states at once."""

import asyncio

import pytest
from fake_station import comparable
from fleet_world import BAD, GOOD, Gathered, World, play
from fleets import OUTCOMES, Fleet, fleets
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.controller.records import find_record
from asyncstate.extras.fleet.protocol import Barrier, Go, Rollout
from asyncstate.extras.fleet.rollout.barriers import Barriers


@st.composite
def ordered_fleets(draw):
    """Fleets some of whose states have a `fleet_order` or a `fleet_lane`; that may form a cycle."""
    fleet = draw(fleets(most=6))
    fleet.listens.clear()
    for id_, _, _ in fleet.states:
        args = {}
        if draw(st.integers(0, 2)) == 0:
            args["fleet_order"] = draw(st.integers(-1, 2))
        if draw(st.booleans()):
            args["fleet_lane"] = draw(st.sampled_from(["l1", "l2", ["l1", "l2"]]))
        fleet.args[id_] = args
    return fleet


ROLLOUTS = st.builds(Rollout, batch=st.sampled_from(["", "1", "2"]), lanes=st.sampled_from([{}, {"l1": 2}]))


def played(fleet, outcome_of, rollout, **faults):
    async def scenario():
        world = World(fleet, outcome_of, **faults)
        world.start()
        end = await world.drive(rollout=rollout)
        await world.close()
        return world, end

    return play(scenario())


def require_order(world, fleet, rollout):
    """Hold what a world did against the barriers and the lanes of its fleet."""
    running, begun, ended = set(), set(), set()
    order = {id_: args["fleet_order"] for id_, args in fleet.args.items() if "fleet_order" in args}
    lanes = {id_: args.get("fleet_lane", []) for id_, args in fleet.args.items()}
    for what, id_ in world.trace:
        if what == "start":
            begun.add(id_)
            running.add(id_)
            earlier = {each for each in begun if order.get(each, 9) < order.get(id_, -9)}
            assert earlier <= ended, f"{id_} begins before {earlier - ended}"
            later = {each for each in begun if order.get(each, -9) > order.get(id_, 9)}
            assert not later, f"{id_} begins after {later}"
            for lane in ("l1", "l2"):
                assert sum(lane in lanes.get(each, []) for each in running) <= rollout.lanes.get(lane, 1)
        else:
            running.discard(id_)
            ended.add(id_)


@settings(max_examples=40, deadline=None)
@given(ordered_fleets(), ROLLOUTS, st.data(), st.integers(0, 9))
def test_no_barrier_is_passed_no_lane_is_overfull_and_the_rows_are_the_same(fleet, rollout, data, seed):
    outcomes = {id_: data.draw(OUTCOMES) for id_, _, _ in fleet.states}
    world, end = played(fleet, outcomes.__getitem__, rollout, slow=0.5, again=0.2, seed=seed)
    assert set(end.hosts) == set(fleet.hosts)
    if end.issues:
        assert "Recursive requisites were found across hosts" in end.issues[0].message
        assert "fleet_order" in end.issues[0].hint
        assert world.ran() == []
        return
    require_order(world, fleet, rollout)
    plain, _ = played(Fleet(fleet.states), outcomes.__getitem__, Rollout())
    rows, without = ({h: comparable(r) for h, r in each.gathered.rows().items()} for each in (world, plain))
    assert rows == without


@settings(max_examples=15, deadline=None)
@given(ordered_fleets(), ROLLOUTS, st.floats(5, 30), st.floats(0, 40), st.integers(0, 9))
def test_with_a_controller_killed_and_replaced_the_order_holds_and_the_run_ends(fleet, rollout, after, away, seed):
    async def scenario():
        world = World(fleet, slow=0.5, seed=seed)
        world.start()
        await asyncio.sleep(5)
        first = asyncio.create_task(world.controller(rollout=rollout).drive())
        await asyncio.wait([first], timeout=after)
        first.cancel()
        await asyncio.sleep(away)
        world.gathered = Gathered()
        record = await find_record(world.server.board(), "r")
        end = await world.controller(rollout=rollout).take_up(record) if record.ended is None else None
        await world.close()
        return world, end

    try:
        world, end = play(scenario())
    except FleetError:
        return
    require_order(world, fleet, rollout)
    if end is not None and not end.issues and not any(each.why for each in end.hosts.values()):
        assert {h: len(rows) for h, rows in world.gathered.rows().items()} == {
            h: len(host.plan.chunks) for h, host in world.hosts.items()
        }


@settings(max_examples=10, deadline=None)
@given(ordered_fleets(), ROLLOUTS, st.data(), st.integers(0, 99))
def test_whatever_hosts_die_and_come_back_a_roll_out_ends_and_nothing_that_ended_runs_twice(fleet, rollout, data, seed):
    kills = data.draw(st.lists(st.tuples(st.sampled_from(fleet.hosts), st.floats(0, 30), st.floats(0, 60)), max_size=3))

    async def scenario():
        world = World(fleet, slow=1.0, again=0.2, seed=seed)
        world.start()

        async def kill(host, at, back):
            await asyncio.sleep(11 + at)
            if world.hosts[host].station.alive:
                await world.hosts[host].kill()
                await asyncio.sleep(back)
                world.start(host)

        tasks = [asyncio.create_task(kill(*each)) for each in kills]
        end = await world.drive(rollout=rollout)
        await asyncio.gather(*tasks)
        await asyncio.sleep(300)
        kept = [kept for host in world.hosts.values() for kept in host.memory.kept.values()]
        await world.close()
        return world, end, kept

    world, end, kept = play(scenario())
    assert len(world.ran()) == len(set(world.ran()))
    assert set(end.hosts) == set(fleet.hosts)
    assert all(each.ended for each in kept)


MIGRATION = Fleet(
    [
        ("stop1", "web1", []),
        ("stop2", "web2", []),
        ("migrate", "db1", []),
        ("start1", "web1", []),
        ("start2", "web2", []),
    ],
    args={
        "stop1": {"fleet_order": 10},
        "stop2": {"fleet_order": 10},
        "migrate": {"fleet_order": 20},
        "start1": {"fleet_order": 30},
        "start2": {"fleet_order": 30},
    },
)


@pytest.mark.parametrize("outcome", [GOOD, BAD])
def test_all_states_of_one_number_end_before_the_next_begin_whatever_they_end_with(outcome):
    world, end = played(MIGRATION, lambda _: outcome, Rollout())
    assert end.exit_code == (0 if outcome is GOOD else 2)
    begun = [id_ for what, id_ in world.trace if what == "start"]
    assert (set(begun[:2]), begun[2], set(begun[3:])) == ({"stop1", "stop2"}, "migrate", {"start1", "start2"})
    require_order(world, MIGRATION, Rollout())


def test_hosts_that_meet_at_a_barrier_begin_together_whatever_the_batch():
    world, end = played(MIGRATION, lambda _: GOOD, Rollout(batch="1"))
    assert end.exit_code == 0
    assert world.gathered.notes == [
        "3 hosts wait for each other and begin together, though the batch is 1: db1, web1, web2"
    ]


def test_a_state_that_requires_one_of_a_later_number_is_a_cycle_by_name():
    fleet = Fleet(
        [("a", "h1", []), ("b", "h2", [("require", "a", False)])],
        args={"a": {"fleet_order": 2}, "b": {"fleet_order": 1}},
    )
    world, end = played(fleet, lambda _: GOOD, Rollout())
    assert end.exit_code == 1
    assert (
        end.issues[0].hint
        == "the shortest cycle:\n    h2: s:b waits for h1: s:a (require)\n    h1: s:a waits for h2: s:b (fleet_order)"
    )
    assert world.ran() == []


def test_a_canary_waits_at_no_barrier_for_others():
    _, end = played(MIGRATION, lambda _: GOOD, Rollout(canary="db1"))
    assert end.exit_code == 1
    assert end.issues[0].message == (
        "Canary db1 would wait for ever: its state s:migrate waits for s:stop1 of host web1 (fleet_order), which begins "
        "only once all canaries have ended"
    )


async def lost_while_stopping(**request):
    world = World(MIGRATION)
    world.hosts["web1"].seconds = 50.0
    world.start()
    running = asyncio.create_task(world.drive(**request))
    await asyncio.sleep(10)
    await world.hosts["web1"].kill()
    end = await running
    await world.close()
    return world, end


def test_a_lost_host_keeps_no_barrier_closed():
    world, end = play(lost_while_stopping())
    assert end.hosts["web1"].why.startswith("lost: ")
    assert [id_ for what, id_ in world.trace if what == "end"] == ["stop2", "migrate", "start2"]


def test_without_a_controller_what_waits_at_a_barrier_fails_with_words_after_the_patience():
    async def scenario():
        world = World(MIGRATION)
        world.hosts["web1"].seconds = 50.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(10)
        running.cancel()
        await asyncio.sleep(400)
        events = [event for event in world.hosts["db1"].journal["r1"] if hasattr(event, "row")]
        await world.close()
        return world, events

    world, [event] = play(scenario())
    assert event.row["comment"] == (
        "One or more requisite failed: fleet_order.10. There was no sign of the controller of the run for 120 s."
    )
    assert {id_ for _, id_ in world.ran()} == {"stop1", "stop2"}


LANE = {f"s{number}": {"fleet_lane": "l1"} for number in range(4)}
QUEUE = Fleet([(f"s{number}", f"h{number % 2}", []) for number in range(4)], args=LANE)


@pytest.mark.parametrize("places", [1, 2, 3])
def test_so_many_states_of_a_lane_run_at_once_on_all_hosts_together(places):
    world, _ = played(QUEUE, lambda _: BAD, Rollout(lanes={"l1": places}))
    assert len(world.ran()) == 4
    at_once = [sum(1 if what == "start" else -1 for what, _ in world.trace[:stop]) for stop in range(9)]
    assert max(at_once) == places


def test_a_lost_host_lets_the_next_in_its_lane_go_on():
    async def scenario():
        world = World(QUEUE)
        world.hosts["h0"].seconds = 50.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(10)
        await world.hosts["h0"].kill()
        end = await running
        await world.close()
        return world, end

    world, end = play(scenario())
    assert [id_ for _, id_ in world.ran()] == ["s1", "s3"]
    assert not end.hosts["h1"].exit_code


def test_who_waits_for_a_place_in_a_lane_is_not_told_how_the_state_before_ended():
    world, _ = played(QUEUE, lambda _: BAD, Rollout())
    rows = [entry.value for entry in world.server.values("row.*.r1.>")]
    assert rows
    assert not any(b'"result":false' in row or b"changed" in row for row in rows)


# the pure part


def test_barriers_open_in_rising_order_once_all_hosts_have_come_so_far():
    goes = {
        "a": Go(nonce="", digest="", barriers=(Barrier(1, (0,), (1,)), Barrier(2, (1,), (2,)))),
        "b": Go(nonce="", digest="", barriers=(Barrier(2, (0,), ()),)),
    }
    barriers = Barriers(goes)
    barriers.reached("b", 2)
    barriers.reached("b", 7)
    assert barriers.opened() == []
    barriers.reached("a", 1)
    assert barriers.opened() == [(1, "a")]
    assert barriers.opened() == []
    barriers.over("a")
    assert barriers.opened() == [(2, "a")]
