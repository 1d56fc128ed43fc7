"""Package states joined by default: what separates them, and that places, order and everything else stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import FakeStates, chunk_of, ids, plan

from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.machine import Machine
from asyncstate.run.validation import ValidatingMachine


def footprint(low):
    if low["state"] == "pkg":
        return {"reads": ["path:/etc/apt/**"], "writes": ["pkgdb"]}
    return {"writes": [f"path:{low['name']}"]}


def hook(low, first):
    if low["fun"] != "installed":
        return "another function"
    return "not first" if first and low.get("last") else ""


def compiled(tree, **options):
    states = FakeStates(
        "test.mod_watch",
        "pkg.mod_aggregate",
        footprints=dict.fromkeys(("pkg", "file", "service"), footprint),
        hooks={"pkg.mod_transaction": options.pop("hook", hook)},
    )
    return plan(tree, states=states, **{"implicit_order": "footprint", **options})


def groups(plan_):
    return [[plan_.chunks[member].id for member in node.members] for node in plan_.nodes if node.transaction]


def why(plan_):
    return {plan_.chunks[index].id: text for index, text in plan_.not_aggregated.items()}


@pytest.mark.feature("F104")
def test_package_states_of_several_formulas_are_one_transaction():
    tree = {
        "one": "a: pkg.installed\n/etc/one: file.managed\n",
        "two": "b: pkg.installed\n/etc/two: file.managed\n",
        "three": "/etc/three: file.managed\nc: pkg.installed\n",
    }
    joined = compiled(tree, sls=list(tree))
    assert groups(joined) == [["a", "b"]]
    assert "c" in why(joined)
    assert ids(joined) == ids(compiled(tree, sls=list(tree), state_aggregate=False))


@pytest.mark.parametrize(
    "between",
    [
        "/etc/apt/preferences: file.managed",
        "x: pkg.removed",
        "x: {pkg.installed: [{failhard: true}]}",
        "x: {test.nop: [{require: [a]}, {require_in: [b]}]}",
        "x: {test.nop: [{failhard: true}]}",
        "/etc/x: file.managed",
    ],
)
def test_what_separates_two_package_states(between):
    joined = compiled(f"a: pkg.installed\n{between}\nb: pkg.installed\n")
    assert groups(joined) == []
    assert why(joined)["a"] == "no later pkg state can join it"


@pytest.mark.parametrize(
    "second",
    [
        "{pkg.installed: [{require: [a]}]}",
        "{pkg.installed: [{onchanges: [a]}]}",
        "{pkg.installed: [{unless: test -e /usr/bin/b}]}",
        "{pkg.installed: [{retry: true}]}",
        "{pkg.installed: [{timeout: 3}]}",
        "{pkg.installed: [{no_log: true}]}",
        "{pkg.installed: [{aggregate: false}]}",
        "{pkg.installed: [{check_cmd: 'true'}]}",
        "{pkg.installed: [{parallel: true}]}",
        "{pkg.installed: [{footprint: {writes: [pkgdb]}}]}",
        "{pkg.installed: [{order: 1}]}",
        "{pkg.installed: [{prereq: [t]}]}",
    ],
)
def test_what_keeps_a_state_alone(second):
    joined = compiled(f"a: pkg.installed\nb: {second}\nt: test.nop\n")
    assert groups(joined) == []
    assert "b" in why(joined)


def test_a_state_that_a_prereq_tests_stays_alone():
    joined = compiled("a: pkg.installed\nb: pkg.installed\nt: {test.nop: [{prereq: [b]}]}\n")
    assert groups(joined) == []
    assert why(joined)["b"] == "a prereq names it, so that it is tested before it runs"


def test_a_condition_of_the_first_state_is_no_hindrance():
    assert groups(compiled("a: {pkg.installed: [{unless: 'false'}]}\nb: pkg.installed\n")) == [["a", "b"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"implicit_order": "none"}, "implicit_order is none: what must happen between two states is not known"),
        ({"failhard": True}, "failhard is on: a state that fails must stop all later ones"),
        ({"state_aggregate": False}, None),
        ({"state_aggregate": ["gem"]}, None),
    ],
)
def test_options_that_keep_them_apart(options, said):
    joined = compiled("a: pkg.installed\nb: pkg.installed\n", **options)
    assert groups(joined) == []
    assert why(joined).get("a") == said


def test_an_explicit_aggregate_in_the_tree_is_another_mechanism():
    joined = compiled(
        "a: {pkg.installed: [{aggregate: true}]}\nb: pkg.installed\nc: {pkg.installed: [{require: [b]}]}\n"
    )
    assert groups(joined) == []
    assert [node.members for node in joined.nodes if node.kind is NodeKind.GROUP] == [(0, 1)]


def test_what_any_member_waits_for_comes_before_the_first():
    joined = compiled("x: test.nop\na: pkg.installed\nb: {pkg.installed: [{require: [x]}]}\n")
    group = next(number for number, node in enumerate(joined.nodes) if node.transaction)
    assert chunk_of(joined, "x").index in joined.dag.predecessors(group)
    assert joined.dag.predecessors(chunk_of(joined, "b").index)[0] == chunk_of(joined, "x").index


@pytest.mark.parametrize("answer", [None, 3, ZeroDivisionError])
def test_a_hook_that_fails_is_a_warning(answer):
    def wrong(low, first):
        return 1 / 0 if answer is ZeroDivisionError else answer

    joined = compiled("a: pkg.installed\nb: pkg.installed\n", hook=wrong)
    assert groups(joined) == []
    assert any("mod_transaction of pkg.installed failed" in issue.message for issue in joined.warnings)


def test_a_run_with_failhard_does_no_work_early_that_a_failure_may_forbid():
    joined = compiled("a: pkg.installed\nb: pkg.installed\nc: pkg.installed\n")
    group = next(number for number, node in enumerate(joined.nodes) if node.transaction)
    for failhard, members in (((), (0, 1, 2)), ((1,), (0, 1)), ((0, 1, 2), (0,))):
        work = Machine(joined, failhard=failhard).take()
        assert (work.node, work.members) == (group, members)


LINES = st.lists(
    st.sampled_from(
        [
            "p{n}: {{pkg.installed: [{{require: [{{test: {t}}}]}}]}}",
            "p{n}: pkg.installed",
            "p{n}: {{pkg.installed: [{{last: true}}]}}",
            "p{n}: pkg.removed",
            "p{n}: {{pkg.installed: [{{onlyif: 'true'}}]}}",
            "p{n}: {{pkg.installed: [{{order: 2}}]}}",
            "p{n}: {{pkg.installed: [{{watch: [{{sls: {other}}}]}}]}}",
            "/f{n}: file.managed",
            "/etc/apt/f{n}: file.managed",
        ]
    ),
    max_size=9,
)


@given(LINES, LINES)
def test_the_serial_order_stays_and_nothing_stands_between_members(one, two):
    tree = {
        name: f"t{start}: test.nop\n"
        + "".join(line.format(n=number, t=f"t{start}", other="zero") + "\n" for number, line in enumerate(lines, start))
        for name, lines, start in (("one", one, 10), ("two", two, 50))
    }
    tree["zero"] = "z: pkg.installed\n/z: file.managed\n"
    joined = compiled(tree, sls=["zero", "one", "two"])
    apart = compiled(tree, sls=["zero", "one", "two"], state_aggregate=False)
    assert ids(joined) == ids(apart)
    for node in (node for node in joined.nodes if node.transaction):
        inside = set(node.members)
        between = joined.dag.reach(inside) & joined.dag.reach(inside, forward=False) - inside
        assert not [other for other in between if joined.nodes[other].kind in {NodeKind.CHUNK, NodeKind.CHECK}]
    machine = ValidatingMachine(joined)
    order = []
    while not machine.finished:
        work = machine.take()
        if work.kind is NodeKind.CHUNK:
            order.append(work.chunk)
        machine.done(work.node, Outcome(result=True, changed=False))
    assert order == sorted(order)
