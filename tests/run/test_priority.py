"""Priorities change the order of what is ready, and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PlanBuilder
from reached import reach
from validating_machine import ValidatingMachine as Machine

from asyncstate.model.plan import NodeKind
from asyncstate.run.options import shuffled
from tests.run.test_machine import OK, plans


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
@given(plan=plans(), seed=st.integers(0, 2**32))
def test_a_random_order_is_legal(plan, seed):
    assert is_legal(plan, handed_out(plan, shuffled(plan, seed)))


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
