import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_order import naive_order
from record_answers import recorded
from strategies import high_data
from trees import declared, plan, sets_of, wired

from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.order import order_cap, settle_orders
from asyncstate.compile.low.lowstate import UNSET, Draft

HUGE = "1" + "0" * 400


def draft(order=UNSET, id_="a"):
    return Draft("test", "nop", id_, id_, sls="s", env="base", args={}, order=order, included_from=())


def serial_order(high):
    """What `naive_order` returns, as lists, from the compiler."""
    graph, order, serial = wired(copy.deepcopy(high))
    check = set(graph.check_of.values())
    return [
        (("?" if node in check else "") + graph.drafts[graph.chunk[node]].tag, order.keys[node][:3]) for node in serial
    ]


def plain_order(high):
    """The same from the plain reference, whose infinite orders the compiler makes finite."""
    found = naive_order(copy.deepcopy(high)).items()
    return [(tag, (min(effective, 1e300), min(own, 1e300), label)) for tag, (effective, own, label) in found]


@given(high_data())
def test_serial_order_is_what_the_plain_reference_says(high):
    assert serial_order(high) == plain_order(high)


@pytest.mark.parametrize("threshold", [1, 2, 3])
@given(high_data(prereq=False, names=False))
def test_sets_do_not_change_the_serial_order(threshold, high):
    with sets_of(threshold):
        assert serial_order(high) == plain_order(high)


@settings(max_examples=200)
@given(st.data())
def test_dependents_of_a_set_and_of_its_member_pull_as_the_plain_reference_says(data):
    """``t`` is the name of two states, so what waits for it waits for a set; others wait for the first alone."""
    draw = data.draw
    kinds = st.sampled_from(("onfail", "require", "watch"))
    states = {"t1": [{"name": "t"}], "t2": [{"name": "t"}], "z": [], "m": []}
    for number in range(draw(st.integers(2, 6))):
        states[f"d{number}"] = [{draw(kinds): [{"test": draw(st.sampled_from(("t", "t1")))}]}]
    if draw(st.booleans()):
        states["t1"].append({"prereq": [{"test": "z"}]})
    if draw(st.booleans()):
        states["m"].append({"prereq": [{"test": "d0"}]})
    places = draw(st.permutations(list(states)))
    orders = {id_: draw(st.integers(0, 3)) or 10_000 + number for number, id_ in enumerate(places)}
    high = declared({id_: [{"order": orders[id_]}, *states[id_]] for id_ in places})
    with sets_of(2):
        assert serial_order(high) == plain_order(high)


def test_the_edge_to_the_target_of_a_prereq_counts_from_the_state_that_has_it():
    high = declared(
        {
            "t1": [{"order": 10_000}, {"name": "t"}, {"prereq": [{"test": "z"}]}],
            "w": [{"order": 10_001}, {"watch": [{"test": "t"}]}],
            "z": [{"order": 2}],
            "t2": [{"order": 10_003}, {"name": "t"}],
        }
    )
    with sets_of(2):
        found = serial_order(high)
    assert found == plain_order(high)
    assert dict(found)["test_|-t1_|-t_|-nop"][0] == 2


@given(high_data())
def test_serial_order_respects_every_edge(high):
    graph, order, serial = wired(high)
    assert order.sort_again() == serial
    place = {node: position for position, node in enumerate(serial)}
    for node, targets in enumerate(graph.after):
        for target in targets:
            members = graph.members.get(node, (node,))
            for after in graph.after[target] if target in graph.members else [target]:
                assert all(place[member] < place[after] for member in members)


def test_the_cap_is_100_above_the_largest_number_and_moves_only_when_reached():
    assert order_cap([]) == 1
    assert order_cap([draft(10000), draft(10099)]) == 10100
    assert order_cap([draft(10000), draft(10100)]) == 10200
    assert order_cap([draft(20000), draft(10000)]) == 20100
    assert order_cap([draft(5.5), draft("last"), draft(-3), draft(0)]) == 1
    assert order_cap([draft(True)]) == 101


def orders(text, **options):
    return {chunk.id: chunk.order for chunk in plan(text, **options).chunks}


def test_order_values_as_salt_shows_them():
    [(tree, low)] = [(text, found) for text, found in recorded("low").items() if "order: last" in text]
    assert list(orders(tree).items()) == [(chunk["__id__"], chunk["order"]) for chunk in low]


@pytest.mark.parametrize(
    ("least", "most"), [("false", "true"), ("-.inf", ".inf"), (f"-{HUGE}", HUGE), ("-1.7e+308", "1.7e+308")]
)
def test_whatever_number_an_order_is_the_plan_has_a_finite_one(least, most):
    tree = f"z: {{test.nop: [{{order: {least}}}]}}\na: {{test.nop: [{{order: {most}}}]}}\n"
    first, last = plan(tree).chunks
    assert (first.id, last.id) == ("z", "a")
    assert all(type(chunk.order) in {int, float} and abs(float(chunk.order)) < 1e301 for chunk in (first, last))


def test_the_warning_is_for_what_was_written_only():
    findings = Findings()
    drafts = [draft(10000), draft("first"), draft(UNSET)]
    for one in drafts:
        one.automatic = False
    settle_orders(drafts, findings)
    assert findings.warnings == []
