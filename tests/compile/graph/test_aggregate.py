import copy
import json
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from reached import reach
from record_answers import recorded
from strategies import high_data
from tables import rows
from trees import FakeStates, compiler, edges, ids, plan, reachable

from asyncstate.compile.graph import aggregate
from asyncstate.errors import Issue
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


TREE = "a: pkg.installed\nt: test.nop\nb: pkg.removed\nc: pkg.installed\n"


@pytest.mark.parametrize(("option", "comments"), recorded("aggregate").items())
def test_the_option_groups_what_it_groups_in_salt(option, comments):
    states = FakeStates("grouped.mod_aggregate")
    made = plan("a: grouped.told\nb: grouped.told\n", states=states, state_aggregate=json.loads(option))
    assert groups(made) == ([["a", "b"]] if comments[0] == "given ['a', 'b']" else [])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "pkg",
            "state_aggregate is the text 'pkg', which has no effect (nor has it in Salt) write state_aggregate: [pkg]",
        ),
        (
            "True",
            "state_aggregate is the text 'True', which has no effect (nor has it in Salt) write state_aggregate: true",
        ),
        (
            "False",
            "state_aggregate is the text 'False', which has no effect (nor has it in Salt) write state_aggregate: false",
        ),
        (["pgk"], "state_aggregate: [pgk] has no effect: there is no such state module did you mean 'pkg'?"),
        (
            ["test"],
            "state_aggregate: [test] has no effect: that module has no mod_aggregate name state modules, such as pkg",
        ),
        (["pkg"], None),
        (True, None),
        (False, None),
    ],
)
def test_an_option_without_effect_is_warned_of(option, said):
    warnings = aggregated(TREE, option).warnings
    assert [f"{each.message} {each.hint}" for each in warnings] == ([] if said is None else [said])
    assert all((each.code, each.file, each.line) == ("W207", "", 0) for each in warnings)


def test_a_states_own_text_is_warned_of_at_its_place():
    tree = "a: pkg.installed\nb:\n  test.nop: [{name: x}]\n  pkg.installed: [{aggregate: pkg}]\n"
    said = "aggregate of 'b' is the text 'pkg', which has no effect (nor has it in Salt)"
    for env, options in (("base", {}), ("dev", {"envs": {"dev": {"s": tree}}, "saltenv": "dev"})):
        compiled = aggregated(tree if env == "base" else {}, False, **options)
        assert list(compiled.warnings) == [
            Issue(said, f"/memory/{env}/s.sls", 4, "write aggregate: [pkg]", code="W207")
        ]


def test_a_module_without_mod_aggregate_has_no_groups_and_is_asked_once():
    states = FakeStates("test.mod_watch")
    assert groups(plan("a: pkg.installed\nb: pkg.installed\n", states=states, state_aggregate=True)) == []
    assert states.asked.count("pkg.mod_aggregate") == 1


def test_what_says_no_log_is_in_no_row_of_another():
    compiled = aggregated("a: pkg.installed\nb: {pkg.installed: [{no_log: true}]}\nc: pkg.installed\n")
    assert groups(compiled) == [["a", "c"]]
    assert compiled.not_aggregated == {1: "it says no_log: the row of a common call would name it"}


def test_a_states_own_word_decides():
    tree = "a: pkg.installed\nb: {pkg.installed: [{aggregate: false}]}\nc: {pkg.installed: [{aggregate: [gem]}]}\nd: pkg.installed\n"
    compiled = aggregated(tree)
    assert groups(compiled) == [["a", "d"]]
    assert compiled.not_aggregated == {1: "its own 'aggregate' says no", 2: "its own 'aggregate' says no"}


@pytest.mark.parametrize("keyword", ["no_log: true", "timeout: 5"])
def test_a_keyword_that_is_for_one_call_keeps_a_state_out(keyword):
    tree = f"a: pkg.installed\nb: {{pkg.installed: [{{{keyword}}}]}}\nc: pkg.installed\n"
    compiled = aggregated(tree)
    assert groups(compiled) == [["a", "c"]]
    assert compiled.not_aggregated == {1: aggregate.ALONE[keyword.partition(":")[0]]}


ACROSS = "its place is in an order across hosts"


@rows(
    ("args", "why", "in_fleet"),
    [
        ({}, "", ""),
        ({"no_log": False, "timeout": None}, "", ""),
        ({"timeout": 5}, aggregate.ALONE["timeout"], aggregate.ALONE["timeout"]),
        ({FLEET_ORDER: []}, "", ACROSS),
        ({FLEET_LANE: "l"}, "", ACROSS),
        ({FLEET_LANE: "l", "no_log": True}, aggregate.ALONE["no_log"], aggregate.ALONE["no_log"]),
    ],
)
def test_in_a_run_across_hosts_an_order_across_them_keeps_a_state_out_too(args, why, in_fleet):
    assert aggregate.why_alone(args) == why
    assert aggregate.why_alone_in_fleet(args) == in_fleet


CANNOT = "test states cannot be aggregated: the module has no mod_aggregate"


@rows(
    ("state", "option", "why"),
    [
        ("test.nop", True, None),
        ("test.nop", ["test"], CANNOT),
        ("{test.nop: [{aggregate: true}]}", True, CANNOT),
        ("{test.nop: [{aggregate: true}]}", None, CANNOT),
        ("{test.nop: [{aggregate: false}]}", True, None),
        ("{pkg.installed: [{aggregate: false}]}", True, "its own 'aggregate' says no"),
        ("pkg.installed", ["gem"], None),
    ],
)
def test_a_state_that_asks_for_a_common_call_and_is_in_none_has_a_reason(state, option, why):
    compiled = aggregated(f"a: {state}\nb: gem.installed\nc: gem.installed\n", option)
    assert compiled.not_aggregated.get(0) == why


@rows(
    ("tree", "option", "expected"),
    {
        "a module whose states form no group": (
            "a: gem.installed\nb: {gem.installed: [{require: [a]}]}\nc: pkg.installed\nd: pkg.installed\n",
            True,
            [["c", "d"]],
        ),
        "each state asks itself": (
            "a: {pkg.installed: [{aggregate: true}]}\nb: {pkg.installed: [{aggregate: true}]}\n",
            None,
            [["a", "b"]],
        ),
        "a state that is tested before": (
            "t: {test.nop: [{prereq: [z]}]}\nz: test.nop\na: pkg.installed\nb: pkg.installed\n",
            True,
            [["a", "b"]],
        ),
    }.values(),
)
def test_nothing_before_them_keeps_states_from_their_group(tree, option, expected):
    assert groups(aggregated(tree, option)) == expected


def test_one_state_that_asks_absorbs_the_later_ones():
    tree = "a: pkg.installed\nb: {pkg.installed: [{aggregate: true}]}\nc: pkg.installed\nd: {pkg.installed: [{aggregate: false}]}\ne: gem.installed\n"
    assert groups(aggregated(tree, None)) == [["b", "c"]]


def test_a_group_waits_for_what_any_member_requires():
    tree = "a: pkg.installed\nt: test.nop\nb: {pkg.installed: [{require: [repo]}]}\nrepo: test.nop\nz: {test.nop: [{watch: [a]}]}\n"
    compiled = aggregated(tree)
    assert ids(compiled) == ["t", "repo", "a", "b", "z"]
    assert edges(compiled, "group") == {
        ("repo", "pkg x 2"),
        ("pkg x 2", "a"),
        ("a", "b"),
        ("b", "z"),
    }


def test_all_members_come_before_what_a_dependent_of_one_would_wait_behind():
    tree = "one: pkg.installed\nx: {test.nop: [{require: [{pkg: two}]}]}\ny: test.nop\ntwo: pkg.installed\nthree: pkg.installed\n"
    assert ids(aggregated(tree)) == ["one", "two", "three", "x", "y"]


def test_what_depends_on_a_member_is_in_a_later_group():
    tree = """
a: pkg.installed
b: {pkg.installed: [{require: [a]}]}
c: pkg.installed
d: {pkg.installed: [{require: [t]}]}
t: {test.nop: [{require: [c]}]}
"""
    compiled = aggregated(tree)
    assert sorted(sorted(members) for members in groups(compiled)) == [["a", "c"], ["b", "d"]]


def test_why_a_state_is_in_no_group():
    compiled = aggregated("a: pkg.installed\nb: {pkg.installed: [{require: [a]}]}\ng: gem.installed\n")
    assert groups(compiled) == []
    assert {ids(compiled)[index]: why.split(" (")[0] for index, why in compiled.not_aggregated.items()} == {
        "g": "no other state of gem may be aggregated",
        "a": "every other state of pkg depends on it, or has another order",
        "b": "it depends on s:a",
    }


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


def test_members_have_one_order_stage():
    tree = "a: {pkg.installed: [{order: 1}]}\nb: pkg.installed\nc: {pkg.installed: [{order: 1}]}\nd: pkg.installed\n"
    compiled = aggregated(f"{tree}e: {{pkg.installed: [{{order: 1}}]}}\nf: pkg.installed\n")
    assert groups(compiled) == [["a", "c", "e"], ["b", "d", "f"]]
    assert reachable(compiled, 0, 3)


@pytest.mark.parametrize(("count", "full"), [(501, 1), (1001, 2)])
def test_a_group_has_at_most_500_members(count, full):
    compiled = aggregated("".join(f"p{i}: pkg.installed\n" for i in range(count)))
    assert [len(members) for members in groups(compiled)] == [500] * full
    assert list(compiled.not_aggregated.values()) == ["its group is full (500 states)"]


def test_groups_of_two_modules_never_wait_for_each_other():
    tree = """
p1: pkg.installed
g1: {gem.installed: [{require: [p1]}]}
g2: gem.installed
p2: {pkg.installed: [{require: [g2]}]}
"""
    compiled = aggregated(tree)
    assert len(ids(compiled)) == 4
    assert len(groups(compiled)) == 1


def test_paths_through_sets_count():
    lib = "".join(f"l{i}: test.nop\n" for i in range(10)) + "last: {test.nop: [{require: [p1]}]}\n"
    tree = {
        "s": "include: [t]\np1: pkg.installed\np2: {pkg.installed: [{require: [{sls: t}]}]}\np3: pkg.installed\n",
        "t": lib,
    }
    compiled = aggregated(tree)
    assert groups(compiled) == [["p1", "p3"]]
    assert [why.partition(" (")[0] for why in compiled.not_aggregated.values()] == ["it depends on s:p1"]


def test_groups_of_a_second_module_see_those_of_the_first():
    tree = """
p1: pkg.installed
p2: pkg.installed
g1: {gem.installed: [{require: [p1]}]}
g2: {gem.installed: [{require: [p2]}]}
g3: gem.installed
p3: {pkg.installed: [{require: [g3]}]}
"""
    compiled = aggregated(tree)
    assert len(compiled.dag.topological_order(lambda node: node)) == len(compiled.nodes)
    assert groups(compiled) == [["p1", "p2", "p3"], ["g1", "g2"]]


def test_only_ids_keeps_the_groups_of_what_is_left():
    tree = "a: pkg.installed\nb: pkg.installed\nc: pkg.installed\n"
    compiled = aggregated(tree, only_ids=["a", "c"])
    assert groups(compiled) == [["a", "c"]]
    assert ids(compiled) == ["a", "c"]


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
