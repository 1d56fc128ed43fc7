"""The joined graph of hosts as a picture: states grouped by host, edges between hosts marked."""

import json

import msgspec
import pytest
from fleets import fleets
from hypothesis import given, settings
from report_page import Page

from asyncstate.extras.fleet.join.join import join
from asyncstate.extras.fleet.protocol import Barrier, HostPlan, State
from asyncstate.extras.fleet.report.graph import graph_data, picture_of
from asyncstate.extras.picture.picture import dot, html, mermaid
from asyncstate.model.encode import json_bytes
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RemoteRequisite

DRAWN = {"dot": dot, "mermaid": mermaid, "html": lambda picture: html(picture, "plan")}
FORMS = (*DRAWN, "json")


def shown(plans, goes, form):
    return json_bytes(graph_data(plans, goes)).decode() if form == "json" else DRAWN[form](picture_of(plans, goes))


def state(name):
    return State("test", "nop", name, name, "app", f"/{name}.sls", 3)


@pytest.fixture
def plans():
    """Two hosts: b0 requires a0, b0 has a prereq on a1 (with its check on a), b1 listens to a0."""
    return {
        "a<1>": HostPlan(
            nonce="1",
            host="a<1>",
            digest="1",
            states=(state("a0"), state("a1")),
            nodes=3,
            edges=(0, 2, 2, 1),
            sources=("group", "require,footprint"),
        ),
        "b": HostPlan(
            nonce="2",
            host="b",
            digest="2",
            states=(state("b0"), state('say "b1"')),
            nodes=2,
            requires=(
                RemoteRequisite(0, "require", "a<1>", "id", "a0"),
                RemoteRequisite(1, "listen", "a<1>", "id", "a0"),
                RemoteRequisite(0, "prereq", "a<1>", "id", "a1"),
            ),
        ),
    }


@pytest.fixture
def joined(plans):
    return plans, join(plans, lambda expression: [expression]).goes


def test_nodes_are_grouped_by_host_and_edges_across_are_marked(joined):
    picture = picture_of(*joined)
    assert set(picture.hosts()) == {"a<1>", "b"}
    labels = {
        (picture.nodes[edge.before].label, picture.nodes[edge.after].label): edge.sources
        for edge in picture.edges
        if edge.family == "across"
    }
    assert labels == {
        ("test.nop: a0", "test.nop: b0"): ("require",),
        ("test.nop: a0", 'listen test.nop: say "b1"'): ("listen",),
        ("check test.nop: a1", "test.nop: b0"): ("prereq",),
        ("test.nop: b0", "test.nop: a1"): ("prerequired",),
    }
    within = [edge for edge in picture.edges if edge.family != "across"]
    assert [(edge.before, edge.after, edge.family) for edge in within] == [(0, 2, "group"), (2, 1, "requisite")]


def test_dot_has_a_cluster_and_mermaid_a_subgraph_for_each_host(joined):
    dot = shown(*joined, "dot")
    assert dot.count("subgraph cluster_") == 2
    assert 'label="a<1>"' in dot
    assert dot.count("{") == dot.count("}")
    mermaid = shown(*joined, "mermaid")
    assert 'subgraph h0["a#lt;1#gt;"]' in mermaid
    assert mermaid.count("  end") == 2


def test_the_page_has_the_host_of_each_state_and_marks_what_goes_from_host_to_host(joined):
    page = Page(shown(*joined, "html"))
    assert page.data["hosts"] == ["a<1>", "b"]
    assert {each.get("host", 0) for each in page.data["states"]} == {0, 1}
    crossing = [edge for edge in picture_of(*joined).edges if edge.family == "across"]
    assert [family for _, family in (page.joined() | page.joined(needed=False)).values()].count("across") == len(
        crossing
    )


def test_json_has_the_place_of_each_state(joined):
    data = json.loads(shown(*joined, "json"))
    assert [(each["host"], each.get("tag"), each.get("line")) for each in data["nodes"][:2]] == [
        ("a<1>", "test_|-a0_|-a0_|-nop", 3),
        ("a<1>", "test_|-a1_|-a1_|-nop", 3),
    ]
    assert {each["kind"] for each in data["nodes"]} == {"chunk", "set", "check", "listener"}
    assert all(0 <= edge["before"] < len(data["nodes"]) for edge in data["edges"])


def test_hosts_without_a_go_are_not_in_the_graph(joined):
    plans, goes = joined
    assert set(picture_of({**plans, "c": plans["b"]}, goes).hosts()) == {"a<1>", "b"}
    assert picture_of({}, {}).nodes == []
    assert all(shown({}, {}, form) for form in FORMS)


def test_lanes_and_barriers_are_edges_and_a_barrier_is_one_node(joined):
    plans, goes = joined
    order = {
        "a<1>": {"barriers": (Barrier(10, (0,), (1,)),), "follows": ((1, 0),)},
        "b": {"barriers": (Barrier(10, (), (0,)),), "remote_follows": ((1, 0),)},
    }
    goes = {host: msgspec.structs.replace(go, **order[host]) for host, go in goes.items()}
    picture = picture_of(plans, goes)
    name = [node.label for node in picture.nodes]
    assert name.count("fleet_order 10") == 1
    ordered = [(name[edge.before], name[edge.after], edge.sources) for edge in picture.edges if edge.family == "across"]
    first = goes["b"].remote[0].state.id
    assert ("test.nop: a0", "fleet_order 10", ("fleet_order",)) in ordered
    assert ("fleet_order 10", "test.nop: a1", ("fleet_order",)) in ordered
    assert ("fleet_order 10", "test.nop: b0", ("fleet_order",)) in ordered
    assert ("test.nop: a0", "test.nop: a1", ("fleet_lane",)) in ordered
    assert (f"test.nop: {first}", 'test.nop: say "b1"', ("fleet_lane",)) in ordered
    assert all(shown(plans, goes, form) for form in FORMS)


@settings(max_examples=20, deadline=None)
@given(fleets(most=6))
def test_every_state_is_one_node_and_every_wait_is_an_edge(fleet):
    from asyncstate.extras.fleet.host.partition import host_plan
    from asyncstate.redact import Secrets
    from asyncstate.redact.redacted_plan import RedactedPlan

    plans = {}
    for host in fleet.hosts:
        plan = fleet.plan(host)
        plans[host] = host_plan(plan, RedactedPlan(plan, Secrets()), run="r", host=host, nonce=host)
    goes = join(plans, lambda expression: [host for host in plans if host == expression]).goes
    picture = picture_of(plans, goes)
    states = [node for node in picture.nodes if node.kind is NodeKind.CHUNK]
    assert len(states) == sum(len(plan.states) for plan in plans.values())
    across = {
        (wait.chunk, host, remote.host, remote.node, wait.kind == "listen")
        for host, go in goes.items()
        for wait in go.waits
        for remote in (go.remote[place] for place in wait.remote)
    }
    assert len([edge for edge in picture.edges if edge.family == "across"]) == len(across)
    assert len(Page(shown(plans, goes, "html")).data["states"]) == len(states)
