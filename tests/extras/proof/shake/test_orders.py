"""Orders: legal, each once, and a binary search that finds the pair that matters."""

import random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plans import PlanBuilder
from reached import reach
from trees import FakeStates
from trees import plan as compiled_plan
from validating_machine import ValidatingMachine as Machine

from asyncstate.extras.proof.shake.orders import Orders, Pair, culprits
from asyncstate.plans.inputs import Key
from asyncstate.plans.recording import PlanRecorder
from asyncstate.redact import Secrets
from asyncstate.run.options import shuffled
from tests.run.test_machine import outcomes, plans, run_all
from tests.run.test_priority import handed_out, is_legal

KEY = Key(b"k" * 32)


@settings(max_examples=25)
@given(plan=plans())
def test_the_record_of_a_plan_has_the_same_orders_and_states(plan):
    kept = PlanRecorder(plan, Secrets(), KEY).record().plan()
    assert Orders(kept).every_delay(Orders(kept).serial) == Orders(plan).every_delay(Orders(plan).serial)
    assert [chunk.tag for chunk in kept.chunks] == [chunk.tag for chunk in plan.chunks]
    assert (kept.nodes, kept.rank) == (plan.nodes, plan.rank)


@settings(max_examples=25)
@given(plan=plans())
def test_the_serial_order_is_that_of_one_slot(plan):
    assert list(Orders(plan).serial) == handed_out(plan)


@settings(max_examples=25)
@given(plan=plans(), data=st.data())
def test_every_delay_is_legal_and_can_be_run(plan, data):
    orders = Orders(plan)
    delays = orders.every_delay(orders.serial)
    assert orders.serial not in delays
    for order, nodes in delays.items():
        assert is_legal(plan, order)
        assert all(orders.delayed(node) == order for node in nodes)
    order = data.draw(st.sampled_from([orders.serial, *delays]))
    assert handed_out(plan, orders.priority(order)) == list(order)


@settings(max_examples=25)
@given(plan=plans(), data=st.data())
def test_one_slot_runs_a_delayed_node_after_all_that_does_not_depend_on_it(plan, data):
    orders = Orders(plan)
    node = data.draw(st.sampled_from(orders.serial))
    order = orders.delayed(node)
    assert sorted(order) == sorted(orders.serial)
    after = reach(plan.dag, plan.dag.successors(node))
    assert set(order[order.index(node) + 1 :]) <= after
    assert [other for other in order if other not in after | {node}] == [
        other for other in orders.serial if other not in after | {node}
    ], "the others keep the serial order"


@settings(max_examples=25)
@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_a_delay_changes_no_verdict(plan, data, width, seed):
    results = {chunk.id: data.draw(outcomes) for chunk in plan.chunks}
    _, serial = run_all(Machine(plan), results)
    orders = Orders(plan)
    delayed = orders.priority(orders.delayed(data.draw(st.sampled_from(orders.serial))))
    machine = Machine(plan, priority=delayed)
    assert run_all(machine, results, width, random.Random(seed))[1] == serial
    assert machine.not_started() == []


@settings(max_examples=25)
@given(plan=plans(), seed=st.integers(0, 2**32))
def test_every_legal_order_can_be_followed(plan, seed):
    order = handed_out(plan, shuffled(plan, seed))
    assert handed_out(plan, Orders(plan).priority(order)) == order


def test_an_order_that_the_graph_forbids_is_followed_as_far_as_it_does():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").build()
    orders = Orders(plan)
    assert handed_out(plan, orders.priority((1, 2, 0))) == [2, 0, 1]
    assert handed_out(plan, orders.priority(())) == [0, 1, 2]


def ask(search, differs):
    tried = []
    try:
        order = next(search)
        while True:
            tried.append(order)
            order = search.send(differs(order))
    except StopIteration as end:
        return (*end.value, tried)


@settings(max_examples=25)
@given(plan=plans(), data=st.data(), seed=st.integers(0, 2**32))
def test_the_search_finds_the_pair_whose_exchange_matters(plan, data, seed):
    orders = Orders(plan)
    bad = tuple(handed_out(plan, shuffled(plan, seed)))
    free = [(a, b) for place, a in enumerate(orders.serial) for b in orders.serial[place + 1 :]]
    exchanged = [(a, b) for a, b in free if bad.index(a) > bad.index(b)]
    assume(exchanged)
    secret = data.draw(st.lists(st.sampled_from(exchanged), min_size=1, max_size=3))

    def differs(order):
        return any(order.index(a) > order.index(b) for a, b in secret)

    pair, order, tried = ask(culprits(orders.serial, bad), differs)
    assert pair in secret
    assert differs(order)
    assert order.index(pair.earlier) > order.index(pair.later)
    assert all(is_legal(plan, each) for each in (order, *tried))
    assert len(tried) <= 2 * len(bad).bit_length()


@settings(max_examples=25)
@given(plan=plans(), seed=st.integers(0, 2**32))
def test_what_was_found_is_kept_from_then_on(plan, seed):
    orders = Orders(plan)
    random_order = random.Random(seed).sample(orders.serial, len(orders.serial))
    for node in random_order:
        order = orders.delayed(node)
        exchanged = [other for other in order if order.index(other) < order.index(node)]
        later = next((o for o in exchanged if orders.serial.index(o) > orders.serial.index(node)), None)
        if later is not None:
            orders.keep(Pair(node, later))
            again = orders.delayed(node)
            assert again.index(node) < again.index(later)
            assert is_legal(plan, again)


def test_a_delay_that_changes_nothing_is_left_out_and_equal_ones_are_one():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").build()
    assert Orders(plan).every_delay([0, 1, 2]) == {(2, 0, 1): [0], (0, 2, 1): [1]}
    assert Orders(PlanBuilder().chunk("a").chunk("b").build()).every_delay([0, 1]) == {(1, 0): [0]}


PACKAGES = "a: pkg.installed\nb: pkg.installed\nc: pkg.installed\n"


def transaction():
    states = FakeStates(
        footprints={"pkg": lambda low: {"writes": ["pkgdb"]}}, hooks={"pkg.mod_transaction": lambda low, first: ""}
    )
    return compiled_plan(PACKAGES, states=states, implicit_order="footprint")


def test_members_of_a_transaction_keep_their_order_as_in_a_run():
    joined = transaction()
    assert joined.turns == ((0, 1, 2),)
    orders = Orders(PlanRecorder(joined, Secrets(), KEY).record().plan())
    for member in range(3):
        order = orders.delayed(member)
        assert [node for node in order if node < 3] == [0, 1, 2]
        assert list(order) == handed_out(joined, orders.priority(order))
