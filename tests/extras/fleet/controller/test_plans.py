"""Plans are taken only from hosts that were asked, and only if they are sound."""

import asyncio

from memory_board import MemoryServer

from asyncstate.errors import Issue
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.plans import Plans
from asyncstate.extras.fleet.join.join import Join
from asyncstate.extras.fleet.protocol import HostPlan, Mistake, Options, RunRecord, State, encode
from asyncstate.model.requisite import RemoteRequisite

STATE = State("test", "nop", "a", "a", "s", "/srv/s.sls", 1)


def plans_of(server, *hosts):
    heard = []
    record = RunRecord(run="r", target="*", hosts=hosts)
    return Plans(server.board(), record, lambda host, _plan: heard.append(host)), heard


async def send(server, host, **fields):
    plan = HostPlan(**{"run": "r", "host": host, "nonce": "n", "states": (STATE,), "nodes": 1, **fields})
    await server.board(host).put(subjects.plan(host, "r"), encode(plan))


async def never():
    await asyncio.Event().wait()


async def test_plans_are_awaited_until_all_are_there():
    server = MemoryServer()
    plans, heard = plans_of(server, "a", "b")
    gathering = asyncio.create_task(plans.gather(60, never))
    await send(server, "a")
    await send(server, "b", states=(), nodes=0, mistakes=(Mistake("no such state", "/srv/s.sls", 3),))
    await gathering
    assert heard == ["a", "b"]
    assert list(plans.sound) == ["a"]
    assert list(plans.failures(["a", "b", "c"], "is silent")) == [
        ("b", str(Issue("no such state", "/srv/s.sls", 3))),
        ("c", "is silent"),
    ]


async def test_nobody_waits_longer_than_asked_or_after_the_stop():
    plans, _ = plans_of(MemoryServer(), "a")
    await plans.gather(0.01, never)

    async def at_once():
        pass

    await plans.gather(1e9, at_once)
    assert plans.known == {}


async def test_what_is_no_plan_is_a_mistake_of_its_host_and_of_nobody_else():
    server = MemoryServer()
    plans, heard = plans_of(server, "a", "b", "c", "d")
    await send(server, "stranger")
    await send(server, "a", run="other")
    await server.board("b").put(subjects.plan("b", "r"), b"{")
    await send(server, "c", edges=(0, 7), sources=("require",))
    await send(server, "d")
    await plans.gather(60, never)
    assert (list(plans.sound), heard) == (["d"], ["a", "b", "c", "d"])
    assert plans.refused.keys() == {"a", "b", "c"}
    assert dict(plans.failures("c", "")) == {
        "c": "its plan is refused: the plan of host c is malformed: it refers to states that it does not have"
    }
    assert list(plans.join(lambda _expression, _hosts: []).goes) == ["d"]


async def test_what_is_excluded_and_fits_no_host_is_noted():
    server = MemoryServer()
    record = RunRecord(run="r", target="*", hosts=("a", "b"), options=Options(exclude=("x", "id:y")))
    plans = Plans(server.board(), record, lambda _host, _plan: None)
    assert plans.notes() == []
    await send(server, "a", unfit=("x", "id:y"))
    await send(server, "b", unfit=("id:y",))
    await plans.look()
    assert plans.notes() == ["no host of this run has an SLS or an ID that --exclude id:y means"]


async def test_plans_are_joined_or_it_is_said_why_not():
    server = MemoryServer()
    plans, _ = plans_of(server, "a")
    await send(server, "a")
    await plans.look()
    assert isinstance(plans.join(lambda _expression, _hosts: []), Join)
    await send(server, "a", requires=(RemoteRequisite(0, "require", "nobody", "id", "x"),))
    await plans.look()
    [issue] = plans.join(lambda _expression, _hosts: [])
    assert "nobody" in issue.message
