"""Predecessors and successors of a state are the same on every surface, and those of a plain search."""

from __future__ import annotations

import time

import pytest
from drawn_plans import ACROSS, SORTS, plans
from hypothesis import HealthCheck, given, settings
from reached import reach
from walks import DRAWN, FAILING, calls_of, meant, merged, plain_before, told

from asyncstate.ahead.prefetcher import Fetch, nodes_needed
from asyncstate.cli.show import _order_lines
from asyncstate.model.dag import FOOTPRINT, Dag
from asyncstate.model.forecast import forecast
from asyncstate.model.plan import EDGE_SOURCES, Node, NodeKind, Plan
from asyncstate.model.result import RunReport
from asyncstate.model.walk import JOINTS, STATES, Reason, Walk
from asyncstate.report.blockers import held_back
from asyncstate.report.terminal import PLAIN
from asyncstate.resume.resumed import _followed


def test_every_kind_of_node_and_edge_is_drawn():
    nodes, sources, contingent = set(), set(), set()

    def look(plan):
        nodes.update((node.kind, node.transaction) for node in plan.nodes)
        sources.update(edge.source for edge in plan.dag.edges())
        contingent.update(edge.proof for edge in plan.contingent)

    for sort in SORTS:
        settings(DRAWN, max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])(
            given(plans([sort]))(look)
        )()
    expected = {(kind, False) for kind in NodeKind} | {(NodeKind.GROUP, True)}
    assert nodes == (expected if ACROSS else expected - {(NodeKind.REMOTE, False)})
    assert sources == EDGE_SOURCES if ACROSS else sources < EDGE_SOURCES
    assert contingent


@DRAWN
@given(plans())
def test_a_walk_finds_what_a_plain_search_finds_in_both_directions(plan):
    for through in (JOINTS, JOINTS - {NodeKind.STAGE}, frozenset({NodeKind.SET})):
        walk = Walk(plan, through)
        nodes = [number for number, node in enumerate(plan.nodes) if node.kind in STATES]
        before = {node: told(walk.before(node)) for node in nodes}
        assert before == {node: merged(plain_before(plan, node, through)) for node in nodes}
        assert {node: told(walk.after(node)) for node in nodes} == {
            node: {other: before[other][node] for other in nodes if node in before[other]} for node in nodes
        }


@DRAWN
@given(plans())
def test_step_by_step_the_walk_has_the_whole_order(plan):
    nodes = [number for number, node in enumerate(plan.nodes) if node.kind in STATES]
    steps, walk = Dag(len(plan.nodes)), Walk(plan)
    for node in nodes:
        for other in walk.before(node):
            steps.add(other, node, "step")
    for node in nodes:
        whole = {each for each in reach(plan.dag, [node], forward=False) if plan.nodes[each].kind in STATES}
        assert reach(steps, [node], forward=False) == whole


@DRAWN
@given(plans())
def test_the_lowstate_tells_what_stands_before(plan):
    lines = list(_order_lines(plan, PLAIN))
    for chunk in plan.chunks:
        numbers = {
            str(node + 1)
            for node in plain_before(plan, chunk.index, JOINTS | {NodeKind.CHECK})
            if node < len(plan.chunks)
        }
        assert set(lines[chunk.index].partition("  after ")[2].split(", ")) - {""} == numbers


@DRAWN
@given(plans())
def test_what_a_requisite_names_counts_for_failures_forecasts_resumed_runs_and_fetches(plan):
    good = {"result": True, "changes": {}, "comment": ""}
    targets = [
        {
            kind: {t for each in of if each.kind.value in kinds for t in meant(plan, each.node)}
            for kind, kinds in KINDS.items()
        }
        for of in plan.requisites
    ]
    tags = [chunk.tag for chunk in plan.chunks]
    for failed in plan.chunks:
        rows = {tag: {**good, "result": False, "__state_ran__": False} for tag in tags} | {
            tags[failed.index]: {**good, "result": False}
        }
        blamed = held_back(RunReport(rows=rows), plan)
        others = {
            tags[i]
            for i in range(len(tags))
            if calls_of(plan, failed.index) & targets[i]["failing"] and i != failed.index
        }
        assert {tag for tag, text in blamed.items() if "which failed" in text} == others
        rows = {tag: {**good} for tag in tags} | {tags[failed.index]: {**good, "result": None}}
        said = forecast(RunReport(rows=rows, test=True), plan)
        listening = {n.chunk for n in plan.listeners if failed.index in {plan.nodes[m].chunk for m in n.members}}
        assert {tags.index(tag) for tag in said} == {failed.index} | listening
    followed = {t for of in targets for t in of["followed"]} | {m for n in plan.listeners for m in n.members}
    assert _followed(plan) == {t for t in followed if t < len(tags) and plan.chunks[t].state != "test"}
    for chunk in plan.chunks:
        here = {node for node in targets[chunk.index]["deciding"] if plan.nodes[node].kind is not NodeKind.REMOTE}
        assert nodes_needed(plan, Fetch(chunk.index, "x.fetch")) == here - {chunk.index}


def every(*families):
    return {f"{family}{form}" for family in families for form in ("", "_any", "_all")}


KINDS = {
    "failing": FAILING,
    "followed": every("watch", "onchanges", "listen"),
    "deciding": every("onchanges", "onfail", "prereq"),
}


def test_a_footprint_of_a_group_is_no_reason_for_what_stands_before_the_group():
    dag = Dag(4)
    nodes = [Node(NodeKind.CHUNK, 0), Node(NodeKind.CHUNK, 1), Node(NodeKind.GROUP, members=(1,)), Node(NodeKind.SET)]
    dag.add(0, 2, "group")
    dag.add(2, 3, FOOTPRINT, ("path:/x",))
    dag.add(3, 1, FOOTPRINT, ("path:/x",))
    walk = Walk(Plan((), tuple(nodes), (), (), dag))
    assert walk.before(1) == {0: Reason(("group",))}
    assert walk.after(0) == {1: Reason(("group",))}


@pytest.mark.no_cover
@pytest.mark.parametrize("states", [20_000])
def test_the_cost_of_a_walk_grows_with_the_plan(states):
    """A chain of as many sets as states, each looked through: neither recursion nor a search for each pair."""
    nodes = [Node(NodeKind.CHUNK, number) for number in range(states)] + [Node(NodeKind.SET) for _ in range(states)]
    dag = Dag(len(nodes))
    for number in range(states):
        dag.add(number, states + number, "set")
        if number:
            dag.add(states + number - 1, states + number, "set")
    last = dag.add_node()
    dag.add(2 * states - 1, last, "require")
    walk = Walk(Plan((), (*nodes, Node(NodeKind.CHUNK, 0)), (), (), dag))
    before = time.process_time()
    assert len(walk.before(last)) == states
    assert walk.after(0) == {last: Reason(("require",))}
    assert time.process_time() - before < 4
