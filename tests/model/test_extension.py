"""A plan that grows by nodes and edges of a run across hosts; the plan it was compiled to stays as it was."""

import pytest
from plans import PlanBuilder

from asyncstate.model.extension import SET_FROM, Extension
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import Requisite, RequisiteKind


@pytest.fixture
def plan():
    """A state a, b that requires it, and c."""
    return PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").build()


def edges(plan):
    return {(edge.before, edge.after, edge.source) for edge in plan.dag.edges()}


def remote(extension, plan, number=0):
    return extension.add_remote(plan.chunks[0], f"db.{number}", "/srv/db.sls")


def test_without_additions_it_is_the_same_plan_under_another_digest(plan):
    one, two = Extension(plan).plan(b"x"), Extension(plan).plan(b"y")
    assert (one.nodes, one.rank, one.requisites, edges(one)) == (plan.nodes, plan.rank, plan.requisites, edges(plan))
    assert len({plan.digest, one.digest, two.digest}) == 3


def test_a_state_of_another_host_is_a_node_with_its_names(plan):
    extension = Extension(plan)
    node = remote(extension, plan)
    grown = extension.plan(b"")
    assert (grown.nodes[node].kind, grown.nodes[node].label) == (NodeKind.REMOTE, "db.0")
    elsewhere = grown.elsewhere[node]
    assert (elsewhere.index, elsewhere.tag, elsewhere.file) == (-1, plan.chunks[0].tag, "/srv/db.sls")
    assert len(plan.nodes) == 3
    assert plan.elsewhere == {}


def test_a_state_and_its_check_wait_for_what_is_required_elsewhere(plan):
    extension = Extension(plan)
    node = remote(extension, plan)
    extension.add_check(1, {"stage"})
    extension.add_check(1, ())
    extension.require(1, RequisiteKind.WATCH, [node])
    extension.require(1, RequisiteKind.WATCH, [node])
    grown = extension.plan(b"")
    check = extension.checks[1]
    assert grown.nodes[check].kind is NodeKind.CHECK
    assert edges(grown) - edges(plan) == {(0, check, "require"), (node, 1, "watch"), (node, check, "watch")}
    assert grown.requisites[1] == (*plan.requisites[1], Requisite(RequisiteKind.WATCH, node))


def test_a_check_waits_for_no_source_that_is_passed_over(plan):
    extension = Extension(plan)
    extension.add_check(1, {"require"})
    assert edges(extension.plan(b"")) == edges(plan)


def test_many_states_of_other_hosts_are_required_through_a_set(plan):
    extension = Extension(plan)
    nodes = [remote(extension, plan, number) for number in range(SET_FROM)]
    extension.require(2, RequisiteKind.REQUIRE, nodes)
    grown = extension.plan(b"")
    joined = len(grown.nodes) - 1
    assert (grown.nodes[joined].kind, grown.nodes[joined].members) == (NodeKind.SET, tuple(nodes))
    assert edges(grown) - edges(plan) == {*((node, joined, "set") for node in nodes), (joined, 2, "require")}


def test_a_prereq_is_required_of_each_state(plan):
    extension = Extension(plan)
    nodes = [remote(extension, plan, number) for number in range(SET_FROM)]
    extension.require(2, RequisiteKind.PREREQ, nodes)
    assert edges(extension.plan(b"")) - edges(plan) == {(node, 2, "prereq") for node in nodes}


def test_nodes_follow_and_states_are_ordered_and_listen(plan):
    extension = Extension(plan)
    node = remote(extension, plan)
    extension.follow(0, node, "stage")
    extension.order(node, 2, "fleet_order")
    extension.listen(2, [node])
    grown = extension.plan(b"")
    assert edges(grown) - edges(plan) == {(0, node, "stage"), (node, 2, "fleet_order")}
    assert grown.requisites[2] == (Requisite(RequisiteKind.REQUIRE, node),)
    listener = grown.nodes[-1]
    assert (listener.kind, listener.chunk, listener.members) == (NodeKind.LISTENER, 2, (node,))
    assert grown.rank[-1] == max(plan.rank) + 1
