"""Agents and a controller on a board in this process, on a virtual clock: the invariants of every run."""

import asyncio
import json

import pytest
from fake_station import FakeHostOfFleet, comparable
from fleet_world import BAD, CHAIN, GOOD, Gathered, World, comments, plain, play
from fleets import OUTCOMES, Fleet, fleets
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_board import Seal
from msgspec.structs import replace
from record_answers import recorded

from asyncstate.errors import FleetError, Issue, JournalError, LockHeld, ResumeRefused
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import HostEnd, read_event_streams
from asyncstate.extras.fleet.controller.records import find_record, signs_of_life
from asyncstate.extras.fleet.controller.sender import Sender
from asyncstate.extras.fleet.errors import BoardError, MessageRefused
from asyncstate.extras.fleet.protocol import (
    HostPlan,
    Mistake,
    NodeResult,
    Offer,
    Options,
    Rollout,
    RunRecord,
    decode,
    encode,
)


@settings(max_examples=8, deadline=None)
@given(fleets(most=6), st.data(), st.integers(0, 99))
def test_a_run_gives_the_rows_of_one_host_however_slow_the_board_is(fleet, data, seed):
    outcomes = {id_: data.draw(OUTCOMES) for id_, _, _ in fleet.states}
    fleet.listens.clear()
    alone = World(Fleet([(id_, "one", requisites) for id_, _, requisites in fleet.states]), outcomes.__getitem__)
    world = World(fleet, outcomes.__getitem__, seed=seed, slow=2.0, again=0.3)
    assert play(plain(alone)).exit_code == (end := play(plain(world))).exit_code
    rows = {tag: row for rows in world.gathered.rows().values() for tag, row in rows.items()}
    assert comparable(rows) == comparable(alone.gathered.rows()["one"])
    assert set(end.hosts) == set(fleet.hosts)


@settings(max_examples=8, deadline=None)
@given(fleets(most=6), st.data(), st.integers(0, 99))
def test_whatever_dies_and_comes_back_nothing_that_ended_runs_twice_and_the_report_is_whole(fleet, data, seed):
    fleet.listens.clear()
    kills = data.draw(st.lists(st.tuples(st.sampled_from(fleet.hosts), st.floats(0, 20), st.floats(0, 60)), max_size=3))
    cuts = data.draw(st.lists(st.tuples(st.sampled_from(fleet.hosts), st.floats(0, 20), st.floats(0, 60)), max_size=2))

    async def scenario():
        world = World(fleet, seed=seed, slow=1.0, again=0.2)
        world.start()

        async def kill(host, at, back):
            await asyncio.sleep(11 + at)  # the run begins
            if world.hosts[host].station.alive:
                await world.hosts[host].kill()
                await asyncio.sleep(back)
                world.start(host)

        async def cut(host, at, back):
            await asyncio.sleep(11 + at)
            world.server.cut_off(host)
            await asyncio.sleep(back)
            world.server.heal(host)

        tasks = [asyncio.create_task(kill(*each)) for each in kills] + [
            asyncio.create_task(cut(*each)) for each in cuts
        ]
        end = await world.drive()
        await asyncio.gather(*tasks)
        await world.close()
        return world, end

    world, end = play(scenario())
    assert len(world.ran()) == len(set(world.ran()))
    assert set(end.hosts) == set(fleet.hosts)
    rows = world.gathered.rows()
    for host, ended in end.hosts.items():
        plan = world.hosts[host].plan
        if not ended.why:
            assert len(rows[host]) == len(plan.chunks), host
    assert end.exit_code in {0, 1, 2}


def test_a_chain_over_three_hosts():
    world = World(Fleet(CHAIN))
    end = play(plain(world))
    assert end.exit_code == 0
    assert [id_ for _, id_ in world.ran()] == ["a", "b", "c"] or set(world.ran()) == {
        ("r1", "a"),
        ("r1", "b"),
        ("r1", "c"),
    }
    record = decode(next(each.value for each in world.server.values(subjects.run("r1"))), RunRecord)
    assert (record.hosts, record.exit_code) == (("db1", "lb1", "web1"), 0)


def test_a_failure_goes_along_the_chain():
    world = World(Fleet(CHAIN), {"a": BAD, "b": GOOD, "c": GOOD}.__getitem__)
    assert play(plain(world)).exit_code == 2
    assert comments(world)["web1"]["b"] == "One or more requisite failed: s.a"
    assert [id_ for _, id_ in world.ran()] == ["a"]


def test_a_host_that_does_not_answer_is_a_failure_with_its_name():
    fleet = Fleet([("a", "db1", []), ("b", "web1", [])])

    async def scenario():
        world = World(fleet)
        world.start("web1")
        try:
            return world, await world.drive(target="L@db1,web1")
        finally:
            await world.close()

    _, end = play(scenario())
    assert end.exit_code == 2
    assert end.hosts["db1"].why == "did not answer within 30 s"
    assert end.hosts["web1"].exit_code == 0


def test_a_host_that_comes_late_does_not_run():
    fleet = Fleet([("a", "db1", []), ("b", "web1", [])])

    async def scenario():
        world = World(fleet)
        world.start("web1")
        end = await world.drive(target="L@db1,web1")
        world.start("db1")
        await asyncio.sleep(300)
        await world.close()
        return world, end

    world, _ = play(scenario())
    assert world.ran() == [("r1", "b")]


def test_who_requires_a_host_that_is_not_there_does_not_begin_and_others_do():
    async def scenario():
        world = World(Fleet([*CHAIN, ("d", "mail1", [])]))
        world.start("web1", "lb1", "mail1")
        end = await world.drive(target="L@db1,web1,lb1,mail1")
        await asyncio.sleep(300)
        kept = {name: host.memory.kept["r1"].ended for name, host in world.hosts.items() if name != "db1"}
        await world.close()
        return world, end, kept

    world, end, kept = play(scenario())
    assert (end.exit_code, end.issues) == (2, ())
    assert end.hosts["db1"].why == "did not answer within 30 s"
    assert end.hosts["web1"].why == (
        "did not begin: its state s:b has [require: {host: db1, test: a}], and db1 has no plan: it did not answer"
    )
    assert end.hosts["lb1"].why == "did not begin: its state s:c waits for host web1, which does not begin"
    assert end.hosts["mail1"] == HostEnd(0)
    assert world.ran() == [("r1", "d")]
    assert kept == {"mail1": "finished", **{host: end.hosts[host].why for host in ("web1", "lb1")}}


@pytest.mark.parametrize("claimed", [{"edges": (0, 7), "sources": ("require",)}, {"nodes": 10**15}, {"v": 99}])
def test_a_host_with_a_malformed_plan_fails_and_so_does_who_requires_it_and_others_run(claimed):
    async def scenario():
        world = World(Fleet([*CHAIN, ("d", "mail1", [])]))
        put = world.server.put

        def malformed(key, value):
            if key == subjects.plan("db1", "r1"):
                value = encode(replace(decode(value, HostPlan), **claimed))
            put(key, value)

        world.server.put = malformed
        end = await plain(world)
        return world, end

    world, end = play(scenario())
    assert {host: each.exit_code for host, each in end.hosts.items()} == {"db1": 1, "web1": 2, "lb1": 2, "mail1": 0}
    assert "its plan is refused: " in end.hosts["db1"].why
    assert world.ran() == [("r1", "d")]
    assert all(host.memory.kept["r1"].ended for host in world.hosts.values())


def test_a_tree_that_does_not_compile_fails_its_host_only():
    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", [])]))
        world.hosts["db1"].plan = [Issue("no such function", "db.sls", 3)]
        world.start()
        try:
            return await world.drive()
        finally:
            await world.close()

    end = play(scenario())
    assert end.exit_code == 2
    assert "no such function" in end.hosts["db1"].why
    assert "db.sls:3" in end.hosts["db1"].why
    assert end.hosts["web1"].exit_code == 0


async def lost_host(on_lost, back=None):
    world = World(Fleet(CHAIN))
    world.hosts["db1"].seconds = 50.0
    world.start()
    running = asyncio.create_task(world.drive(options=Options(on_lost=on_lost)))
    await asyncio.sleep(10)
    await world.hosts["db1"].kill()
    if back is not None:
        await asyncio.sleep(back)
        world.start("db1")
    end = await running
    await world.close()
    return world, end


def test_what_waits_for_a_lost_host_fails_with_words():
    world, end = play(lost_host("fail"))
    assert end.exit_code == 2
    assert end.hosts["db1"].why.startswith("lost: there was no sign of it for ")
    assert end.hosts["db1"].why.endswith("; under way then: test.nop: a")
    assert comments(world)["web1"]["b"].startswith("One or more requisite failed: s.a. Host db1 is lost: ")
    assert world.gathered.losses == ["db1"]
    assert world.ran() == []


def test_a_lost_host_that_comes_back_after_the_run_does_nothing():
    async def scenario():
        world, _ = await lost_host("fail")
        world.start("db1")
        await asyncio.sleep(600)
        await world.close()
        return world

    assert play(scenario()).ran() == []


def test_what_waits_for_a_lost_host_goes_on_when_it_is_back():
    world, end = play(lost_host("wait", back=60))
    assert end.exit_code == 0
    assert [id_ for _, id_ in world.ran()].count("a") == 1
    assert set(world.ran()) == {("r1", "a"), ("r1", "b"), ("r1", "c")}


def test_nobody_waits_for_ever_for_a_host_that_never_comes_back():
    _, end = play(lost_host("wait"))
    assert end.exit_code == 2
    assert end.hosts["db1"].why


@pytest.mark.parametrize("away", [{None}, {None, "db1", "web1", "lb1"}], ids=["the operator's program", "the board"])
@pytest.mark.parametrize("slow", [0.0, 1.0])
def test_what_is_out_of_reach_itself_takes_nobody_for_lost(away, slow):
    async def scenario():
        world = World(Fleet(CHAIN), slow=slow)
        world.hosts["db1"].seconds = 100.0
        world.start()
        running = asyncio.create_task(world.drive())
        for _ in range(3):
            await asyncio.sleep(40)
            for party in away:
                world.server.cut_off(party)
            await asyncio.sleep(25)
            for party in away:
                world.server.heal(party)
        end = await running
        await world.close()
        return world, end

    world, end = play(scenario())
    assert (end.exit_code, world.gathered.losses) == (0, [])


def test_without_a_controller_hosts_come_to_an_end():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 3000.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(10)
        running.cancel()
        await asyncio.sleep(300)
        waited = [kept.ended for name in ("web1", "lb1") for kept in world.hosts[name].memory.kept.values()]
        await world.close()
        return world, waited

    world, waited = play(scenario())
    assert waited == ["finished", "finished"]
    assert world.ran() == []


def test_hosts_go_on_without_a_controller_as_long_as_they_need_nothing():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start()
        running = asyncio.create_task(world.drive())
        async with asyncio.timeout(100):
            async for _ in world.server.board().watch("to.web1.*.go"):  # the last
                break
        await asyncio.sleep(0.2)
        running.cancel()
        await asyncio.sleep(300)
        await world.close()
        return world

    assert set(play(scenario()).ran()) == {("r1", "a"), ("r1", "b"), ("r1", "c")}


@pytest.mark.parametrize("now", [False, True])
def test_cancelling_stops_all_hosts(now):
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 30.0
        world.start()
        await asyncio.sleep(1)
        controller = world.controller()
        asyncio.get_running_loop().call_later(10, lambda: controller.cancel("SIGINT", now=now))
        end = await controller.drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.exit_code == 130
    assert end.cancelled == "SIGINT"
    assert world.ran() == ([] if now else [("r1", "a")])
    assert set(end.hosts) == {"db1", "lb1", "web1"}


def test_a_run_that_is_cancelled_before_all_plans_are_there_names_every_host():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start("db1", "web1")
        await asyncio.sleep(1)
        controller = world.controller(target="L@db1,lb1,web1")
        asyncio.get_running_loop().call_later(10, lambda: controller.cancel("SIGINT"))
        end = await controller.drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    assert (end.exit_code, world.ran()) == (130, [])
    assert {host: each.why for host, each in end.hosts.items()} == {
        "db1": "nothing began",
        "lb1": "had sent no plan when the run was cancelled",
        "web1": "nothing began",
    }


def test_a_second_run_beside_the_first_is_refused_by_name():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 20.0
        world.start()
        await asyncio.sleep(1)
        ends = await asyncio.gather(world.controller("r1").drive(), world.controller("r2").drive())
        await world.close()
        return world, ends

    world, ends = play(scenario())
    words = [each.why for end in ends for each in end.hosts.values() if "takes part in run" in each.why]
    assert words
    assert len(world.ran()) == len(set(world.ran()))


def test_a_run_after_another_is_taken():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start()
        first = await world.drive()
        second = await world.controller("r2").drive()
        await world.close()
        return world, first, second

    world, first, second = play(scenario())
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert len(world.ran()) == 6


def test_an_offer_that_the_operator_of_a_host_has_not_signed_is_answered_with_the_reason():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start()
        await asyncio.sleep(1)
        world.seal = Seal("mallory")
        end = await world.controller().drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    words = "this host refuses the offer: the signature is not the operator's, or not for this key"
    assert {each.why for each in end.hosts.values()} == {words}
    assert world.ran() == []


def test_what_a_host_does_not_accept_has_its_reason():
    async def scenario(accept):
        world = World(Fleet([("a", "db1", [])]))
        world.agents["db1"] = world.hosts["db1"].start(world.server, world.seal, accept=accept)
        end = await world.drive()
        await world.close()
        return world, end

    world, end = play(scenario(lambda _: "this host allows dry runs only"))
    assert end.hosts["db1"].why == "this host allows dry runs only"

    def refuse(_):
        raise MessageRefused("it is old")

    world, end = play(scenario(refuse))
    assert end.hosts["db1"].why == "this host refuses the offer: it is old"
    assert world.ran() == []


def test_an_offer_that_comes_again_replaces_no_answer():
    """The host has forgotten the run, and takes the offer for a repetition."""

    async def scenario():
        world = World(Fleet(CHAIN))
        end = await plain(world)
        plan = await world.server.board("db1").get(subjects.plan("db1", "r1"))
        world.hosts["db1"].memory.kept.clear()

        def refuse(_):
            raise MessageRefused("it may be a repetition")

        task = world.hosts["db1"].start(world.server, world.seal, accept=refuse)
        await asyncio.sleep(10)
        task.cancel()
        assert await world.server.board("db1").get(subjects.plan("db1", "r1")) == plan
        return world, end

    world, end = play(scenario())
    assert end.exit_code == 0
    assert len(world.ran()) == 3


def clone(world, host):
    """A machine with the credentials of a host, which starts now with a disk of its own."""
    made = FakeHostOfFleet(host, world.hosts[host].plan, lambda _: GOOD)
    made.start(world.server, world.seal, draw=iter(f"clone {number}" for number in range(1000)).__next__)
    return made


def test_two_machines_with_one_credential_are_named_to_who_offers_a_run_and_others_go_on():
    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", [])]))
        world.start()
        await asyncio.sleep(1)
        twin = clone(world, "db1")
        await asyncio.sleep(12)
        end = await world.controller("r1").drive()
        await twin.kill()
        await asyncio.sleep(30)
        after = await world.controller("r2").drive()
        await world.close()
        return world, twin, end, after

    world, twin, end, after = play(scenario())
    assert "two machines have the credentials of db1 (" in end.hosts["db1"].why
    assert end.hosts["web1"] == HostEnd(0)
    assert twin.ran == []
    assert after.exit_code == 0, "once the other is gone, the host takes part again"
    assert [run for run, _ in world.hosts["db1"].ran] == ["r2"]


def test_a_clone_that_starts_during_a_run_is_named_and_does_not_end_its_part():
    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)])]))
        world.hosts["db1"].seconds = 40.0
        world.start()
        await asyncio.sleep(1)
        running = asyncio.create_task(world.controller().drive())
        await asyncio.sleep(5)
        twin = clone(world, "db1")
        end = await running
        await twin.kill()
        await world.close()
        return world, twin, end

    world, twin, end = play(scenario())
    assert end.exit_code == 0
    assert twin.ran == []
    assert [
        each for each in world.gathered.notes if "two machines have the credentials of db1" in each
    ] == world.gathered.notes
    assert len(world.gathered.notes) == 1


def test_a_plan_that_a_host_does_not_allow_does_not_run():
    async def scenario():
        world = World(Fleet([("a", "db1", [])]))
        allow = lambda _offer, plan: [f"no {plan.chunks[0].function} here"]  # noqa: E731
        world.agents["db1"] = world.hosts["db1"].start(world.server, world.seal, allow=allow)
        end = await world.drive()
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.hosts["db1"].why == "no test.nop here"
    assert world.ran() == []


def test_a_board_that_is_given_up_does_not_cut_off_what_runs():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 30.0
        world.start()
        running = asyncio.create_task(world.drive(options=Options(on_lost="wait")))
        await asyncio.sleep(10)
        world.server.give_up("db1")
        with pytest.raises(BoardError):
            await world.agents["db1"]
        ran = list(world.hosts["db1"].ran)
        world.server.gone.clear()
        world.start("db1")
        await running
        await world.close()
        return world, ran

    world, ran = play(scenario())
    assert ran == [("r1", "a")]
    assert world.ran().count(("r1", "a")) == 1
    assert len(world.gathered.rows()["db1"]) == 1


def test_a_board_that_is_given_up_by_another_run_does_not_cut_off_what_runs():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 30.0
        world.start()
        running = asyncio.create_task(world.drive(options=Options(on_lost="wait")))
        await asyncio.sleep(10)
        key = subjects.offer("db1", "r2")  # its part waits for a go
        await world.server.board().put(key, world.seal.seal(encode(Offer(run="r2", host="db1")), key))
        await asyncio.sleep(5)
        world.server.give_up("db1")
        world.server.put(subjects.go("db1", "r2"), b"its reader has no connection")
        with pytest.raises(BoardError):
            await world.agents["db1"]
        running.cancel()
        await world.close()
        return world

    assert play(scenario()).hosts["db1"].ran == [("r1", "a")]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (LockHeld("/run/lock", 7, "today"), "another run on this host (process 7, since today) did not end within"),
        (LockHeld("/run/lock", 0, ""), "another run on this host did not end within the --patience of this one"),
        (ResumeRefused("it cannot go on"), "it cannot go on"),
        (JournalError("no journal"), "no journal"),
        (OSError(28, "disk is full"), "disk is full"),
        (FleetError("no folder"), "no folder"),
        (KeyError("gone"), "internal error; see its log: KeyError: 'gone'"),
    ],
)
def test_a_part_that_fails_ends_with_words_and_its_agent_goes_on(fault, words):
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].fault = fault
        world.start()
        first = await world.drive()
        said = comments(world)["web1"]["b"]
        world.hosts["db1"].fault = None
        second = await world.controller("r2").drive()
        await world.close()
        return first, said, second

    first, said, second = play(scenario())
    assert words in first.hosts["db1"].why
    assert said.startswith("One or more requisite failed: s.a. Host db1 ended without it: ")
    assert words in said
    assert (first.exit_code, second.exit_code) == (2, 0)


def test_a_part_that_cannot_be_kept_fails_with_words_and_its_agent_goes_on():
    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", [])]))
        world.hosts["db1"].memory.fault = FleetError("the disk is full")
        world.start()
        first = await world.drive()
        world.hosts["db1"].memory.fault = None
        second = await world.controller("r2").drive()
        await world.close()
        return first, second

    first, second = play(scenario())
    assert first.hosts["db1"].why == "the disk is full"
    assert first.hosts["web1"].exit_code == second.exit_code == 0


async def restarted_with(plan):
    """A run whose first host is away while its second state runs, and comes back with another plan."""
    requires = {"a2": "a", "b": "a", "c": "a2"}
    fleet = Fleet(
        [("a", "db1", [])]
        + [(id_, "db1" if id_ == "a2" else "web1", [("require", before, False)]) for id_, before in requires.items()]
    )
    world = World(fleet)
    world.hosts["db1"].seconds = 20.0
    world.start()
    running = asyncio.create_task(world.drive())
    while not world.hosts["db1"].ran:  # noqa: ASYNC110 - the clock is virtual
        await asyncio.sleep(1)
    await asyncio.sleep(2)
    await world.hosts["db1"].kill()
    world.hosts["db1"].plan = plan
    world.start("db1")
    end = await running
    await world.close()
    return world, end


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ([Issue("no such function", "db.sls", 3)], "no such function"),
        (Fleet([("a", "db1", []), ("z", "db1", [])]).plan("db1"), "for another plan"),
    ],
)
def test_a_host_that_comes_back_with_another_tree_lets_nobody_wait_and_leaves_true_rows(plan, words):
    world, end = play(restarted_with(plan))
    assert words in end.hosts["db1"].why
    assert end.exit_code == 2
    row = world.server.values(subjects.row("web1", "db1", "r1", "0"))[0]
    assert decode(row.value, NodeResult).result is True
    assert world.hosts["web1"].ran == [("r1", "b")]
    assert "Host db1 ended without it: " in comments(world)["web1"]["c"]
    assert words in comments(world)["web1"]["c"]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_is_not_wanted_any_more_does_not_go_on(stopped):
    async def scenario():
        world = World(Fleet([("a", "db1", [])]))
        world.hosts["db1"].seconds = 50.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(10)
        await world.hosts["db1"].kill()
        running.cancel()
        if stopped:
            await Sender(world.server.board(), world.seal, "r1").stop(["db1"], "enough")
        else:
            world.server.forget(subjects.offer("db1", "r1"))
        world.start("db1")
        await asyncio.sleep(200)
        await world.close()
        return world

    world = play(scenario())
    assert world.ran() == []
    words = "enough" if stopped else "the run is not wanted any more: its offer is gone"
    assert world.hosts["db1"].memory.kept["r1"].ended == words


def test_a_host_whose_messages_were_removed_is_found_again_while_it_is_there():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start()
        await asyncio.sleep(12)
        for key in (subjects.host("db1"), subjects.lease("db1")):  # as `fleet prune --host` does
            world.server.forget(key)
        await asyncio.sleep(12)
        end = await world.drive()
        await world.close()
        return end

    assert play(scenario()).hosts.keys() == {"db1", "lb1", "web1"}


TARGETS = {
    json.loads(each)[1]: hosts
    for each, hosts in recorded("target").items()
    if each.startswith('["compound", "') and "front" not in each
}


@pytest.mark.parametrize(("target", "hosts"), TARGETS.items())
def test_targets_are_salts(target, hosts):
    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", []), ("c", "lb1", [])]))
        world.start()
        await asyncio.sleep(1)
        request = Request(target=target)
        controller = Controller(world.server.board(), world.seal, "r1", request, nodegroups={"edge": "web* or lb*"})
        end = await controller.drive()
        await world.close()
        return end

    assert list(play(scenario()).hosts) == [host for host in hosts if host != "web2"]


def test_a_target_that_fits_nobody_says_who_is_there():
    world = World(Fleet(CHAIN))
    with pytest.raises(FleetError, match="did you mean 'web1'"):
        play(plain(world, target="web2"))
    with pytest.raises(FleetError, match="known are db1, lb1, web1"):
        play(plain(World(Fleet(CHAIN)), target="G@role:x"))


@pytest.mark.parametrize("after", [0.05, 0.5, 2.0, 4.5, 8.0, 40.0])
def test_a_run_is_taken_up_by_another_controller_where_it_was(after):
    async def scenario():
        world = World(Fleet(CHAIN), slow=0.3, seed=3)
        for host in world.hosts.values():
            host.seconds = 5.0
        world.start()
        await asyncio.sleep(5)
        first = asyncio.create_task(world.controller().drive())
        await asyncio.sleep(after)
        first.cancel()
        await asyncio.sleep(20)
        board = world.server.board()
        world.gathered = Gathered()
        try:
            record = await find_record(board, "r")
        except FleetError:
            return None
        end = await world.controller().take_up(record)
        await world.close()
        return world, end

    played = play(scenario())
    if played is None:
        assert after < 1  # it had not begun
        return
    world, end = played
    if len(end.hosts) and all(not each.why for each in end.hosts.values()):
        assert set(world.ran()) == {("r1", "a"), ("r1", "b"), ("r1", "c")}
        assert [len(rows) for rows in world.gathered.rows().values()] == [1, 1, 1]
        assert end.exit_code == 0
    else:
        assert after < 2  # not all offers had been written
    assert len(world.ran()) == len(set(world.ran()))


def test_what_was_reported_can_be_read_again():
    async def scenario():
        world = World(Fleet(CHAIN), slow=0.5, again=0.5)
        world.hosts["lb1"].seconds = 100.0
        world.start()
        running = asyncio.create_task(world.drive())
        await asyncio.sleep(60)
        gathered = Gathered()
        ends = await read_event_streams(world.server.board(), "r1", world.hosts, gathered)
        running.cancel()
        await world.close()
        return ends, gathered

    ends, gathered = play(scenario())
    assert ends == {"db1": HostEnd(0), "web1": HostEnd(0)}
    assert {host: len(rows) for host, rows in gathered.rows().items()} == {"db1": 1, "lb1": 0, "web1": 1}


def test_who_gives_signs_of_life():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start("db1", "web1")
        await asyncio.sleep(10)
        await world.hosts["web1"].kill()
        found = await signs_of_life(world.server.board())
        await world.close()
        return found

    assert play(scenario()) == {"db1"}


def test_who_is_held_up_does_not_take_hosts_for_silent():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start("db1")
        await asyncio.sleep(10)
        board = world.server.board()

        async def hears_nothing(_pattern):
            await asyncio.sleep(1000)
            yield

        board.watch = hears_nothing
        found = await signs_of_life(board)
        await world.close()
        return found

    assert play(scenario()) == {"db1"}


def test_a_run_is_found_by_a_unique_beginning():
    async def scenario():
        world = World(Fleet([("a", "db1", [])]))
        world.start()
        await asyncio.sleep(1)
        for run in ("abc", "abd"):
            await world.controller(run).drive()
        board = world.server.board()
        assert (await find_record(board, "abc")).run == "abc"
        with pytest.raises(FleetError, match="beginning of 2 runs"):
            await find_record(board, "ab")
        with pytest.raises(FleetError, match="did you mean 'abc'"):
            await find_record(board, "abx")
        await world.close()

    play(scenario())


def test_a_run_for_plans_joins_them_and_runs_nothing():
    class Joined(Gathered):
        def joined(self, plans, goes):
            self.of = (set(plans), {host: len(go.waits) for host, go in goes.items()})

    world = World(Fleet(CHAIN))
    world.gathered = Joined()
    end = play(plain(world, plans_only=True))
    assert (end.exit_code, world.ran()) == (0, [])
    assert world.gathered.of == ({"db1", "web1", "lb1"}, {"db1": 0, "web1": 1, "lb1": 1})


def test_a_run_for_plans_fails_for_hosts_without_one():
    world = World(Fleet(CHAIN))
    world.hosts["db1"].plan = [Issue("no such file")]
    world.hosts["web1"].plan = world.hosts["lb1"].plan = Fleet([("x", "web1", [])]).plan("web1")
    end = play(plain(world, plans_only=True))
    assert end.exit_code == 2
    assert {host for host, each in end.hosts.items() if each.exit_code} == {"db1"}


def test_a_plan_that_is_too_large_ends_the_part_with_words_and_the_agent_goes_on():
    many = [(f"s{number}", "db1", []) for number in range(400)]

    async def scenario():
        world = World(Fleet([*many, ("b", "web1", [])]))
        world.start()
        try:
            await asyncio.sleep(1)
            world.server.most = 1000
            first = await world.drive()
            world.server.most = 1 << 30
            return first, await world.controller(run="r2").drive(), dict(world.agents)
        finally:
            await world.close()

    first, second, _ = play(scenario())
    assert "more than the server takes at once (1000)" in first.hosts["db1"].why
    assert (first.hosts["web1"].exit_code, first.exit_code) == (0, 2)
    assert second.exit_code == 0


@pytest.mark.parametrize("refused", ["to.web1", "report.db1", "lease.db1", "plan.db1"])
def test_a_key_that_is_refused_ends_no_agent(refused):
    async def scenario():
        world = World(Fleet(CHAIN))
        world.start()
        try:
            await asyncio.sleep(1)
            world.server.refused = refused
            controller = asyncio.create_task(world.drive(deadline=20.0))
            await asyncio.sleep(100)
            assert not any(task.done() for task in world.agents.values())
            world.server.refused = ""
            await controller
            return await world.controller(run="r2").drive()
        finally:
            await world.close()

    assert play(scenario()).exit_code == 0


def test_a_run_is_taken_up_although_a_host_has_sent_another_plan_since():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 20.0
        world.start()
        first = asyncio.create_task(world.drive())
        await asyncio.sleep(8)
        first.cancel()
        board = world.server.board("db1")
        broken = HostPlan(run="r1", host="db1", nonce="n", mistakes=(Mistake("no such function", "db.sls", 3),))
        await board.put(subjects.plan("db1", "r1"), encode(broken))
        record = await find_record(world.server.board(), "r")
        end = await world.controller().take_up(record)
        await world.close()
        return world, end

    world, end = play(scenario())
    assert (end.exit_code, end.issues) == (0, ())
    assert [id_ for what, id_ in world.trace if what == "end"] == ["a", "b", "c"]


def test_a_go_that_nobody_signed_is_not_passed_on_by_who_takes_up_a_run():
    async def scenario():
        world = World(Fleet(CHAIN))
        world.hosts["db1"].seconds = 20.0
        world.start()
        first = asyncio.create_task(world.drive())
        await asyncio.sleep(8)
        first.cancel()
        go = Seal("mallory").seal(b"{}", subjects.go("db1", "r1"))
        await world.server.board().put(subjects.held("r1", "db1"), go)
        record = await find_record(world.server.board(), "r")
        try:
            await world.controller().take_up(record)
        finally:
            await world.close()

    with pytest.raises(MessageRefused, match="signature"):
        play(scenario())


def test_a_go_that_is_held_back_lets_nobody_begin_who_finds_it_under_the_key_of_a_go():
    """Whoever has the server in hand can write what is signed to any key."""

    async def scenario():
        world = World(Fleet([("a", "db1", []), ("b", "web1", [])]))
        world.hosts["db1"].seconds = 20.0
        world.start()
        running = asyncio.create_task(world.drive(rollout=Rollout(batch="1")))
        await asyncio.sleep(8)
        board = world.server.board()
        held = await board.get(subjects.held("r1", "web1"))
        await board.put(subjects.go("web1", "r1"), held)
        end = await running
        await world.close()
        return world, end

    world, end = play(scenario())
    assert end.exit_code == 0
    assert [id_ for _, id_ in world.trace] == ["a", "a", "b", "b"]
