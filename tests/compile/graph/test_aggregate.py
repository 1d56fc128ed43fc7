import copy
import json
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from reached import reach
from record_answers import recorded
from strategies import high_data
from tables import rows
from trees import FakeStates, compiler, plan, reachable

from asyncstate.compile.graph import aggregate
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import FLEET_LANE, FLEET_ORDER

STATES = ("test.mod_watch", "pkg.mod_aggregate", "gem.mod_aggregate")


def groups(compiled):
    return [
        [compiled.chunks[compiled.nodes[member].chunk].id for member in node.members]
        for node in compiled.nodes
        if node.kind is NodeKind.GROUP
    ]


def aggregated(tree, option=True, **options):
    return plan(tree, states=FakeStates(*STATES), state_aggregate=option, **options)


@pytest.mark.parametrize(("option", "comments"), recorded("aggregate").items())
def test_the_option_groups_what_it_groups_in_salt(option, comments):
    states = FakeStates("grouped.mod_aggregate")
    made = plan("a: grouped.told\nb: grouped.told\n", states=states, state_aggregate=json.loads(option))
    assert groups(made) == ([["a", "b"]] if comments[0] == "given ['a', 'b']" else [])


def test_a_module_without_mod_aggregate_has_no_groups_and_is_asked_once():
    states = FakeStates("test.mod_watch")
    assert groups(plan("a: pkg.installed\nb: pkg.installed\n", states=states, state_aggregate=True)) == []
    assert states.asked.count("pkg.mod_aggregate") == 1


@rows(
    ("args", "alone", "in_fleet"),
    [
        ({}, False, False),
        ({"no_log": False, "timeout": None}, False, False),
        ({"timeout": 5}, True, True),
        ({FLEET_ORDER: []}, False, True),
        ({FLEET_LANE: "l"}, False, True),
        ({FLEET_LANE: "l", "no_log": True}, True, True),
    ],
)
def test_in_a_run_across_hosts_an_order_across_them_keeps_a_state_out_too(args, alone, in_fleet):
    why, why_in_fleet = aggregate.why_alone(args), aggregate.why_alone_in_fleet(args)
    assert (bool(why), bool(why_in_fleet)) == (alone, in_fleet)
    assert why_in_fleet.startswith(why)


@rows(
    ("state", "option", "has_reason"),
    [
        ("test.nop", True, False),
        ("test.nop", ["test"], True),
        ("{test.nop: [{aggregate: true}]}", True, True),
        ("{test.nop: [{aggregate: true}]}", None, True),
        ("{test.nop: [{aggregate: false}]}", True, False),
        ("{pkg.installed: [{aggregate: false}]}", True, True),
        ("pkg.installed", ["gem"], False),
    ],
)
def test_a_state_that_asks_for_a_common_call_and_is_in_none_has_a_reason(state, option, has_reason):
    compiled = aggregated(f"a: {state}\nb: gem.installed\nc: gem.installed\n", option)
    assert (0 in compiled.not_aggregated) == has_reason


@rows(
    "before",
    [
        "c: {pkg.installed: [{require: [a, b]}]}",
        "t: {test.nop: [{require: [a]}]}\nc: {pkg.installed: [{require: [t]}]}",
    ],
)
def test_a_state_is_said_to_depend_on_the_first_of_the_last_members_before_it(before):
    compiled = aggregated(f"a: pkg.installed\nb: pkg.installed\n{before}\n")
    assert groups(compiled) == [["a", "b"]]
    assert [why.partition(" (")[0] for why in compiled.not_aggregated.values()] == ["it depends on s:a"]


@pytest.mark.parametrize(("count", "full"), [(501, 1), (1001, 2)])
def test_a_group_has_at_most_500_members(count, full):
    compiled = aggregated("".join(f"p{i}: pkg.installed\n" for i in range(count)))
    assert [len(members) for members in groups(compiled)] == [500] * full
    assert list(compiled.not_aggregated) == [count - 1]


def test_paths_through_sets_count():
    lib = "".join(f"l{i}: test.nop\n" for i in range(10)) + "last: {test.nop: [{require: [p1]}]}\n"
    tree = {
        "s": "include: [t]\np1: pkg.installed\np2: {pkg.installed: [{require: [{sls: t}]}]}\np3: pkg.installed\n",
        "t": lib,
    }
    compiled = aggregated(tree)
    assert groups(compiled) == [["p1", "p3"]]
    assert [why.partition(" (")[0] for why in compiled.not_aggregated.values()] == ["it depends on s:p1"]


def of_test(*states):
    """High data of states of ``test``, in the order in which they are given."""
    return {
        f"s{number}": {"test": ["nop", {"order": 10_000 + number}, *more], "__sls__": "a", "__env__": "base"}
        for number, more in enumerate(states)
    }


TWO, THIRD = {"names": ["x", "y"]}, {"names": ["x", {"y": [{"order": 3}]}]}


@example(of_test([{"prereq": ["s1"]}, TWO], [TWO], [{"prereq": ["s3"]}, TWO], [THIRD], [TWO]))
@example(of_test([TWO], [THIRD], [{"prereq": ["s3"]}], [THIRD]))
@example(of_test([TWO], [TWO], [THIRD], [{"require": ["s1"]}, TWO], [TWO], [{"order": -1, "require": ["s0"]}, {"watch": ["s3"]}, TWO]))  # fmt: skip
@given(high_data(max_size=9))
def test_aggregation_makes_no_cycle_and_loses_no_state_nor_any_order(high):
    states = FakeStates("test.mod_aggregate", "pkg.mod_aggregate", "cmd.mod_aggregate")
    alone = compiler({}, states=states).plan_high(copy.deepcopy(high))
    together = compiler({}, states=states, state_aggregate=True).plan_high(high)
    assert {chunk.tag for chunk in together.chunks} == {chunk.tag for chunk in alone.chunks}
    assert len(together.dag.topological_order(lambda node: node)) == len(together.nodes)
    place = {chunk.tag: chunk.index for chunk in alone.chunks}
    number = {chunk.tag: chunk.index for chunk in together.chunks}
    for chunk in alone.chunks:
        after = {alone.chunks[node].tag for node in reach(alone.dag, [chunk.index]) if node < len(alone.chunks)}
        reached = reach(together.dag, [number[chunk.tag]])
        assert {number[tag] for tag in after} <= reached, "what waited for a state still does"
    for members in (node.members for node in together.nodes if node.kind is NodeKind.GROUP):
        for one in members:
            for other in members:
                first, second = (place[together.chunks[member].tag] for member in (one, other))
                assert one == other or not reachable(alone, first, second)


@pytest.mark.no_cover
def test_a_long_chain_of_aggregatable_states_takes_one_pass(monkeypatch):
    calls = []
    monkeypatch.setattr(aggregate, "_levels", lambda *args, levels=aggregate._levels: calls.append(1) or levels(*args))
    tree = "".join(f"p{i}: {{pkg.installed: [{{require: [{{pkg: p{i - 1}}}]}}]}}\n" for i in range(1, 3000))
    compiled = aggregated("p0: pkg.installed\n" + tree)
    assert groups(compiled) == []
    assert len(calls) == 1


def test_members_are_pulled_forward_past_joints_that_share_what_is_behind_them():
    """Twice as many ways with each layer of joints: only a search that passes each joint once comes to an end."""
    layers = 60
    after = [[2 * layer + 2, 2 * layer + 3] for layer in range(layers) for _ in "ab"] + [[2 * layers + 2]] * 2 + [[]]
    keys = {0: 5, 2 * layers + 2: 2}
    aggregate._pull_forward(SimpleNamespace(after=after), SimpleNamespace(keys=keys), [0])
    assert keys[0] == 2
