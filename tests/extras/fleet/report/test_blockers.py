"""The requisite that held a state of a host back, as text."""

from __future__ import annotations

from asyncstate.extras.fleet.protocol import Go, HostPlan, RemoteState, State, Wait
from asyncstate.extras.fleet.report.blockers import held_back_on_host

BAD = {"result": False, "changes": {}, "comment": ""}
HELD = {**BAD, "__state_ran__": False}


def test_what_a_host_tells_of_its_plan_is_enough():
    names = ("a", "b", "c")
    plan = HostPlan(
        nonce="n",
        states=tuple(State("test", "nop", name, name, "s") for name in names),
        nodes=4,
        edges=(0, 3, 3, 1, 1, 2),
        sources=("set", "require,order", "watch"),
    )
    tags = [f"test_|-{name}_|-{name}_|-nop" for name in names]
    rows = {"web1": dict(zip(tags, (BAD, HELD, HELD), strict=True))}
    assert held_back_on_host("web1", rows, plan) == {
        tags[1]: "requires test: a, which failed",
        tags[2]: "watches test: b, which was held back",
    }
    assert held_back_on_host("web1", rows, None) == {}


def test_a_state_of_another_host_is_named_with_its_host():
    here, there = State("test", "nop", "b", "b", "s"), State("cmd", "run", "migrate", "migrate", "s")
    plan = HostPlan(nonce="n", digest="d", states=(here,), nodes=1)
    go = Go(
        nonce="n",
        digest="d",
        remote=(RemoteState("db1", 0, there, end=True), RemoteState("db1", 0, there)),
        waits=(Wait(0, "require", (0, 1)),),
    )
    own, other = "test_|-b_|-b_|-nop", "cmd_|-migrate_|-migrate_|-run"
    rows = {"web1": {own: HELD}, "db1": {other: BAD}}
    assert held_back_on_host("web1", rows, plan, go) == {own: "requires cmd: migrate on db1, which failed"}
    assert held_back_on_host("web1", {"web1": {own: HELD}}, plan, go) == {}, "db1 is lost: the comment says so"
    assert held_back_on_host("web1", rows, plan, Go(nonce="n", digest="other", waits=go.waits)) == {}
