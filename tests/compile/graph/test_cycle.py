import re
import time
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_answers import recorded
from strategies import graphs
from tables import rows
from trees import bare_graph, compiler, mistakes, sets_of

from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.cycle import open_cycles, report_cycle
from asyncstate.compile.graph.order import kahn
from asyncstate.compile.graph.requisite_graph import SET_MEMBER
from asyncstate.errors import CycleError

CYCLES = {tree: told for tree, told in recorded("low").items() if "Recursive requisites" in str(told)}


@pytest.mark.parametrize(("tree", "told"), CYCLES.items())
def test_the_message_is_salts_and_the_hint_has_the_places(tree, told):
    [issue] = mistakes(tree)
    assert [issue.message] == told
    lines = issue.hint.splitlines()
    assert lines[0] == "the shortest cycle:"
    assert lines[1].strip().startswith("s:c (")
    assert lines[1].endswith("s.sls:1) (require)")
    assert (issue.code, issue.file, issue.line) == ("E307", "/memory/base/s.sls", 3)


def test_the_hint_is_the_shortest_cycle_though_another_is_found_first():
    tree = """
a: {test.nop: [{require: [c]}]}
b: {test.nop: [{require: [a]}]}
c: {test.nop: [{require: [b]}]}
d: {test.nop: [{require: [d2]}]}
d2: {test.nop: [{require: [d]}]}
"""
    [issue] = mistakes(tree)
    assert "'ID': 'a'" in issue.message
    assert "'ID': 'd'" not in issue.message
    assert len(issue.hint.splitlines()) == 3


def test_the_search_comes_back_from_where_there_is_no_cycle():
    tree = """
a: test.nop
b: {test.nop: [{require: [a]}]}
c: {test.nop: [{require: [a, b]}]}
d: {test.nop: [{require: [c, f]}]}
e: {test.nop: [{require: [d]}]}
f: {test.nop: [{require: [e]}]}
g: {test.nop: [{require: [f]}]}
"""
    [issue] = mistakes(tree)
    assert issue.message.count("'require'") == 3
    assert "'ID': 'a'" not in issue.message


def links(tree):
    """Each link of the cycle that the message names, in short, and of the shortest one: what waits, why, for what."""
    [issue] = mistakes(tree)
    found = re.findall(r"'ID': '(\w+)'(?:, 'NAME': '(\w+)')?}, '(\w+)', {'SLS': 's', 'ID': '(\w+)'", issue.message)
    first = [(name or id_, kind, before) for id_, name, kind, before in found]
    shortest = re.findall(r"s:(\w+) \(\S+\) waits for s:(\w+) \(\S+\) \((\w+)\)", issue.hint)
    return first, [(after, kind, before) for after, before, kind in shortest]


@rows(
    ("states", "expected"),
    [
        ({"a": "prereq: [b]", "b": "prereq: [a]"}, [("b", "prereq", "a"), ("a", "prereq", "b")]),
        ({"a": "prereq: [a]"}, [("a", "prereq", "a")]),
        ({"a": "prereq: [b]", "b": "onfail: [a]"}, [("b", "onfail", "a"), ("a", "prereq", "b")]),
        (
            {"a": "prereq: [b]", "b": "watch: [c]", "c": "require: [a]"},
            [("c", "require", "a"), ("b", "watch", "c"), ("a", "prereq", "b")],
        ),
    ],
)
def test_each_link_is_a_requisite_as_the_file_has_it(states, expected):
    tree = "".join(f"{id_}: {{test.nop: [{{{own}}}]}}\n" for id_, own in states.items())
    first, shortest = links(tree)
    assert shortest == first == expected


def test_the_search_enters_the_check_of_a_state_before_the_state():
    first, _ = links("""
a: test.nop
b: {test.nop: [{require: [a]}]}
c: {test.nop: [{prereq: [b, d]}]}
d: {test.nop: [{require: [b]}, {prereq: [a]}]}
""")
    assert first == [("d", "require", "b"), ("c", "prereq", "d"), ("b", "prereq", "c")]


def test_a_cycle_through_a_set_does_not_name_the_set():
    lib = "".join(f"l{i}: test.nop\n" for i in range(10))
    tree = {
        "s": "include: [t]\na: {test.nop: [{watch: [{sls: t}]}]}\n",
        "t": f"{lib}last: {{test.nop: [{{require: [a]}}]}}\n",
    }
    [issue] = mistakes(tree)
    assert issue.message == (
        "Recursive requisites were found: ({'SLS': 't', 'ID': 'last'}, 'require', {'SLS': 's', 'ID': 'a'}), "
        "({'SLS': 's', 'ID': 'a'}, 'watch', {'SLS': 't', 'ID': 'last'})"
    )


def test_missing_states_are_reported_beside_the_cycle():
    tree = "a: {test.nop: [{require: [b, gone]}]}\nb: {test.nop: [{require: [a]}]}\n"
    assert [issue.code for issue in mistakes(tree)] == ["E305", "E307"]


def high(count, requires):
    return {
        f"s{i}": {"test": ["nop", {"require": [{"test": f"s{requires(i)}"}]}], "__sls__": "s", "__env__": "base"}
        for i in range(count)
    }


def test_a_cycle_is_shown_from_wherever_its_set_comes_in_it():
    states = [("t1", "require: [x]"), ("t2", ""), ("a", "require: [y]"), ("x", "require: [a]"), ("y", "onfail: [t]")]
    for first in permutations(states):
        tree = "".join(f"{id_}: {{test.nop: [{{name: {id_[0]}}}{own and f', {{{own}}}'}]}}\n" for id_, own in first)
        with sets_of(2):
            _, shortest = links(tree)
        assert sorted(shortest) == [
            ("a", "require", "y"),
            ("t1", "require", "x"),
            ("x", "require", "a"),
            ("y", "onfail", "t1"),
        ]


def joined(graph):
    """Every edge of a graph, with its kind."""
    return [(before, after, kind) for before in range(len(graph.chunk)) for after, kind in graph.edges_from(before)]


def reached(edges, start):
    """Every node to which a path of edges leads from one."""
    found, more = set(), {start}
    while more - found:
        found |= more
        more = {after for before, after, *_ in edges if before in found}
    return found


@given(graphs())
def test_the_cycle_shown_in_the_hint_is_one_and_none_is_shorter(shape):
    size, edges = shape
    lengths = [
        length for start in range(size) for length in range(1, size + 1) if start in ends_of_walks(edges, start, length)
    ]
    if not lengths:
        return
    findings = Findings()
    report_cycle(bare_graph(size, edges), findings)
    [issue] = findings.errors
    found = re.findall(r"s:s(\d+) waits for s:s(\d+) \(require\)", issue.hint)
    assert [before for _, before in found] == [found[-1][0], *(after for after, _ in found[:-1])]
    assert {(int(before), int(after)) for after, before in found} <= {*edges}
    assert len(found) == min(lengths)
    assert findings.cyclic


def ends_of_walks(edges, start, length):
    """Every node at the end of a walk of ``length`` edges."""
    found = {start}
    for _ in range(length):
        found = {after for before, after in edges if before in found}
    return found


@given(graphs(), st.data())
def test_an_opened_graph_lacks_only_the_edges_that_closed_a_cycle(shape, data):
    size, edges = shape
    graph = bare_graph(size)
    for before, after in edges:
        graph.add_edge(before, after, data.draw(st.integers(0, SET_MEMBER)))
    every = joined(graph)
    open_cycles(graph)
    left = joined(graph)
    assert len(kahn(graph, lambda node: node)) == size
    closed = {(before, after) for before, after, _ in every} - {(before, after) for before, after, _ in left}
    assert left == [edge for edge in every if edge[:2] not in closed]
    assert all(before in reached(left, after) for before, after in closed)


@rows(("count", "more"), [(20, 0), (21, 1), (30, 10)])
def test_twenty_links_of_a_cycle_are_shown(count, more):
    with pytest.raises(CycleError) as caught:
        compiler({}).plan_high(high(count, lambda i: (i + 1) % count))
    [issue] = caught.value.issues
    assert issue.code == "E307"
    assert issue.message.count("'require'") == issue.hint.count(" waits for ") == 20
    assert issue.message.endswith(f", … and {more} more" if more else "}, 'require', {'SLS': 's', 'ID': 's1'})")
    assert issue.hint.splitlines()[-1] == (
        f"    … {more} more, and back to s:s0" if more else "    s:s0 waits for s:s1 (require)"
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_cycle_of_very_many_states_is_reported_in_seconds(count):
    chain = high(count, lambda i: i - 1)
    del chain["s0"]["test"][1]
    began = time.process_time()
    compiler({}).plan_high(chain)
    planned = time.process_time()
    with pytest.raises(CycleError) as caught:
        compiler({}).plan_high(high(count, lambda i: (i + 1) % count))
    assert time.process_time() - planned < 4 * (planned - began)
    [issue] = caught.value.issues
    assert issue.message.count("'require'") == 20
    assert issue.message.endswith(f"… and {count - 20} more")
    assert f"… {count - 20} more, and back to s:s0" in issue.hint
