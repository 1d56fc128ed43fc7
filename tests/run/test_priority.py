"""Priorities change the order of what is ready, and nothing else."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PlanBuilder
from reached import reach

from asyncstate.model.plan import NodeKind
from asyncstate.run.priority import delayed, following, shuffled
from asyncstate.run.validation import ValidatingMachine as Machine
from tests.run.test_machine import OK, outcomes, plans, run_all


def handed_out(plan, priority=None):
    """The nodes in the order in which one slot takes them, without listeners."""
    machine, order = Machine(plan, priority=priority), []
    while (work := machine.take()) is not None:
        order.append(work.node)
        machine.done(work.node, OK)
    return order


def is_legal(plan, order):
    place = {node: number for number, node in enumerate(order)}
    before = {node: reach(plan.dag, plan.dag.predecessors(node), forward=False) & place.keys() for node in order}
    return all(place[other] < place[node] for node in order for other in before[node])


@settings(max_examples=25)
@given(plan=plans(), data=st.data())
def test_one_slot_runs_a_delayed_node_after_all_that_does_not_depend_on_it(plan, data):
    serial = handed_out(plan)
    node = data.draw(st.sampled_from(serial))
    order = handed_out(plan, delayed(plan, node))
    assert is_legal(plan, order)
    assert sorted(order) == sorted(serial)
    after = reach(plan.dag, plan.dag.successors(node))
    assert set(order[order.index(node) + 1 :]) <= after
    assert [other for other in order if other not in after | {node}] == [
        other for other in serial if other not in after | {node}
    ], "the others keep the serial order"


@settings(max_examples=25)
@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_a_delay_changes_no_verdict(plan, data, width, seed):
    results = {chunk.id: data.draw(outcomes) for chunk in plan.chunks}
    _, serial = run_all(Machine(plan), results)
    node = data.draw(st.integers(0, len(plan.nodes) - 1))
    machine = Machine(plan, priority=delayed(plan, node))
    assert run_all(machine, results, width, random.Random(seed))[1] == serial
    assert machine.not_started() == []


@settings(max_examples=25)
@given(plan=plans(), seed=st.integers(0, 2**32))
def test_every_legal_order_can_be_followed(plan, seed):
    order = handed_out(plan, shuffled(plan, seed))
    assert is_legal(plan, order)
    assert handed_out(plan, following(plan, order)) == order


def test_an_order_that_the_graph_forbids_is_followed_as_far_as_it_does():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").build()
    assert handed_out(plan, following(plan, [1, 2, 0])) == [2, 0, 1]
    assert handed_out(plan, following(plan, [])) == [0, 1, 2]


@settings(max_examples=25)
@given(plan=plans(), seed=st.integers(0, 2**32))
def test_a_seed_gives_the_same_order_again(plan, seed):
    assert shuffled(plan, seed) == shuffled(plan, seed)
    assert sorted(shuffled(plan, seed)) == sorted(plan.rank)


def test_another_seed_is_another_order():
    builder = PlanBuilder()
    for number in range(20):
        builder.chunk(f"c{number}")
    plan = builder.build()
    orders = [handed_out(plan, priority) for priority in (None, shuffled(plan, 1), shuffled(plan, 2))]
    assert len({tuple(order) for order in orders}) == 3
    assert all(plan.nodes[node].kind is NodeKind.CHUNK for node in orders[0])
