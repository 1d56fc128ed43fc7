"""Package states joined by default: what separates them, and that places, order and everything else stay."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reached import reach
from tables import rows
from trees import FakeStates, chunk_of, ids, plan
from validating_machine import ValidatingMachine

from asyncstate.errors import Issue
from asyncstate.model.plan import Node, NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.machine import Machine


def footprint(low):
    if low["state"] == "pkg":
        return {"reads": ["path:/etc/apt/**"], "writes": ["pkgdb"]}
    if low["state"] == "gem":
        return {"writes": [f"gem:{low['name']}"]}
    return {"writes": [f"path:{low['name']}"]}


def hook(low, first):
    if low["fun"] != "installed":
        return "another function"
    if first is False and low.get("fresh"):
        return "not later"
    return "not first" if first is True and low.get("last") else ""


def compiled(tree, **options):
    states = FakeStates(
        "test.mod_watch",
        "pkg.mod_aggregate",
        "gem.mod_aggregate",
        footprints=dict.fromkeys(("pkg", "gem", "file", "service"), footprint),
        hooks={"pkg.mod_transaction": options.pop("hook", hook)},
    )
    return plan(tree, states=states, **{"implicit_order": "footprint", **options})


def run_through(plan_, priority=None, *, slots=1, pick=None):
    """The chunks in the order in which they start, with how many members of transactions ran at once at most."""
    machine, running, order, most = ValidatingMachine(plan_, priority=priority), [], [], 0
    while not machine.finished:
        while len(running) < slots and (work := machine.take()) is not None:
            running.append(work.node)
            if work.kind is NodeKind.CHUNK:
                order.append(work.chunk)
        most = max([most, *(len({*members} & {*running}) for members in plan_.turns)])
        machine.done(running.pop(pick(len(running)) if pick else 0), Outcome(result=True, changed=False))
    assert machine.not_started() == []
    return order, most


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
    assert "a" in why(joined)


@rows(
    "second",
    """require: [a]; onchanges: [a]; unless: test -e /usr/bin/b; creates: /usr/bin/b; retry: true; timeout: 3; no_log: true;
    aggregate: false; check_cmd: 'true'; parallel: true; footprint: {writes: [pkgdb]}; order: 1; prereq: [t]; lane: l;
    exclusive: true; umask: '077'; failhard: true; last: true; fresh: true""".split(";"),
)
def test_what_keeps_a_state_alone(second):
    joined = compiled(f"a: pkg.installed\nb: {{pkg.installed: [{{{second.strip()}}}]}}\nt: test.nop\n")
    assert groups(joined) == []
    assert "b" in why(joined)


def test_what_cannot_join_earlier_states_may_be_joined_by_later_ones():
    joined = compiled("a: pkg.installed\nb: {pkg.installed: [{fresh: true}]}\nc: pkg.installed\n")
    assert groups(joined) == [["b", "c"]]
    assert (*why(joined), why(joined)["b"]) == ("b", "a", "not later")


def test_a_transaction_has_at_most_100_members():
    joined = compiled("".join(f"p{number}: pkg.installed\n" for number in range(101)))
    assert [len(members) for members in groups(joined)] == [100]
    assert [*why(joined)] == ["p100"]


@rows(
    "between",
    [
        "x: {test.nop: [{require: [a]}, {require_in: [b]}]}",
        "x: {gem.installed: [{aggregate: true}, {onlyif: [{fun: pkg.version, args: [p]}]}]}\ny: gem.installed",
    ],
)
def test_the_reason_names_what_stands_between(between):
    reason = why(compiled(f"a: pkg.installed\n{between}\nb: pkg.installed\n"))["b"]
    assert re.findall(r" s:(\w)", reason) == ["x", "a"]


def test_states_of_one_order_behind_others_work_together():
    joined = compiled(
        "x: {test.nop: [{order: 1}]}\ny: {test.nop: [{order: 2}]}\na: {pkg.installed: [{order: 3}]}\n"
        "b: {pkg.installed: [{order: 3}]}\nz: {test.nop: [{order: 3}]}\n"
    )
    assert groups(joined) == [["a", "b"]]
    [group] = (number for number, node in enumerate(joined.nodes) if node.transaction)
    assert joined.nodes[group] == Node(NodeKind.GROUP, -1, (2, 3), "pkg x 2 in one transaction", transaction=True)
    assert joined.rank[group] == joined.rank[2]
    assert [joined.nodes[each].label for each in joined.dag.predecessors(group)] == ["order 3"]


def test_a_condition_of_the_first_state_is_no_hindrance():
    assert groups(compiled("a: {pkg.installed: [{unless: 'false'}]}\nb: pkg.installed\n")) == [["a", "b"]]


@pytest.mark.parametrize(
    ("options", "has_reason"),
    [
        ({"implicit_order": "none"}, True),
        ({"failhard": True}, True),
        ({"state_aggregate": False}, False),
        ({"state_aggregate": ["gem"]}, False),
    ],
)
def test_options_that_keep_them_apart(options, has_reason):
    joined = compiled("a: pkg.installed\nb: pkg.installed\n", **options)
    assert groups(joined) == []
    assert ("a" in why(joined)) == has_reason


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


class Silent(Exception):
    """An exception without a text."""


@rows(
    ("answer", "wrong"),
    [
        (None, "it returned NoneType, not text"),
        (3, "it returned int, not text"),
        (ValueError("no fit"), "no fit"),
        (SystemExit(), "SystemExit"),
        (Silent(), "Silent"),
    ],
)
def test_a_hook_that_fails_is_a_warning(answer, wrong):
    def hook(low, first):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    joined = compiled("a: pkg.installed\nb: pkg.installed\n", hook=hook)
    said = f"mod_transaction of pkg.installed failed: {wrong}"
    assert groups(joined) == []
    assert why(joined) == dict.fromkeys("ab", said)
    assert list(joined.warnings) == [Issue(said, "/memory/base/s.sls", line, code="W208") for line in (1, 2)]


def test_ctrl_c_ends_a_hook():
    def hook(low, first):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled("a: pkg.installed\n", hook=hook)


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
        between = reach(joined.dag, inside) & reach(joined.dag, inside, forward=False) - inside
        assert not [other for other in between if joined.nodes[other].kind in {NodeKind.CHUNK, NodeKind.CHECK}]
        first, *others = node.members
        for member in others:
            assert joined.dag.sources(first, member)
            assert not any(joined.dag.sources(other, member) for other in others)
            # What came after a member for its own sake still does.
            for other in set(apart.dag.successors(member)) - inside:
                assert joined.nodes[other].kind is not NodeKind.CHUNK or other in reach(joined.dag, [member])
    order, _ = run_through(joined)
    assert order == sorted(order)


@given(LINES, st.randoms(use_true_random=False), st.integers(1, 6))
def test_members_start_in_serial_order_and_one_at_a_time_at_any_priority(lines, random, slots):
    tree = "t1: test.nop\n" + "".join(
        line.format(n=number, t="t1", other="s") + "\n" for number, line in enumerate(lines) if "sls:" not in line
    )
    joined = compiled(tree + "x: pkg.installed\ny: pkg.installed\nz: pkg.installed\n")
    priority = list(joined.rank)
    random.shuffle(priority)
    order, most = run_through(joined, priority, slots=slots, pick=random.randrange)
    assert joined.turns
    assert most <= 1
    for members in joined.turns:
        assert [chunk for chunk in order if chunk in members] == list(members)


def test_what_comes_after_a_member_waits_for_those_it_has_to_do_with():
    def of_formula(low):
        return footprint(low) if low["state"] != "service" else {"writes": [f"service:{low['name']}"]}

    tree = {
        "one": "a: pkg.installed\nb: pkg.installed\n",
        "two": "c: pkg.installed\n",
        "three": "d: pkg.installed\n",
        "one.run": "s1: service.running\n",
        "two.run": "s2: {service.running: [{require: [c]}]}\n",
        "after": "x: pkg.removed\n",
    }
    states = FakeStates(
        "test.mod_watch",
        footprints=dict.fromkeys(("pkg", "service"), of_formula),
        hooks={"pkg.mod_transaction": hook},
    )
    joined = plan(tree, sls=list(tree), states=states, implicit_order="footprint")
    assert groups(joined) == [["a", "b", "c", "d"]]
    before = {
        name: {
            joined.chunks[node].id
            for node in reach(joined.dag, [chunk_of(joined, name).index], forward=False)
            if node < len(joined.chunks)
        }
        - {name}
        for name in ("b", "c", "d", "s1", "s2", "x")
    }
    assert before == {
        "b": {"a"},
        "c": {"a"},
        "d": {"a"},
        "s1": {"a", "b"},
        "s2": {"a", "c"},
        "x": {"a", "b", "c", "d"},
    }


def test_many_members_and_many_that_come_after_stay_linear():
    sizes = []
    for count in (10, 90):
        packages = "".join(f"p{n}: pkg.installed\n" for n in range(count))
        services = "".join(f"s{n}: service.running\n" for n in range(count))
        joined = compiled(packages + services)
        assert [len(members) for members in joined.turns] == [count]
        sizes.append(sum(1 for _ in joined.dag.edges()) / count)
    assert sizes[1] < 1.5 * sizes[0]
