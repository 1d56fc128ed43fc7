"""Two nodes, one path, no order between them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.model.dag import Dag
from asyncstate.trace.races import BELOW, ENTRY, clash, conflicts
from asyncstate.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, WRITTEN


def found(touched, edges=(), size=None):
    """Return the conflicts as (earlier, later, path)."""
    dag = Dag(size or max(touched) + 1)
    for before, after in edges:
        dag.add(before, after, "require")
    return [conflict[:3] for conflict in conflicts(dag, range(dag.size), touched)]


MADE_FOLDER = MADE | ENSURED

PAIRS = [
    ({"/f": WRITTEN | NAMED}, {"/f": LOOKED}, "/f"),
    ({"/f": LOOKED}, {"/f": WRITTEN}, "/f"),
    ({"/f": WRITTEN}, {"/f": WRITTEN}, "/f"),
    ({"/f": ABSENT}, {"/f": MADE | WRITTEN}, "/f"),
    ({"/f": REMOVED}, {"/f": LOOKED}, "/f"),
    ({"/f": LOOKED}, {"/f": LOOKED}, ""),
    ({"/f": ABSENT}, {"/f": ABSENT}, ""),
    ({"/f": WRITTEN}, {"/g": WRITTEN}, ""),
    ({"/d": MADE_FOLDER}, {"/d/f": WRITTEN | NAMED}, "/d"),
    ({"/d": MADE_FOLDER}, {"/d": ENSURED | LOOKED, "/d/f": WRITTEN | NAMED}, ""),
    ({"/d": MADE_FOLDER}, {"/d/f": ABSENT}, ""),
    ({"/d/f": ABSENT}, {"/d": MADE_FOLDER}, ""),
    ({"/d": ENSURED | LOOKED}, {"/d": ENSURED | LOOKED}, ""),
    ({"/d": MADE_FOLDER}, {"/d": LOOKED}, "/d"),
    ({"/d/sub/f": LOOKED}, {"/d": REMOVED}, "/d"),
    ({"/l": MADE | WRITTEN}, {"/l/f": LOOKED}, "/l"),
    ({"/d": LISTED}, {"/d/f": WRITTEN | NAMED}, "/d"),
    ({"/d": LISTED}, {"/d/f": WRITTEN}, ""),
    ({"/d": LISTED}, {"/d/sub/f": MADE}, ""),
    ({"/d": LISTED}, {"/d": LISTED}, ""),
]


@pytest.mark.parametrize(("one", "other", "path"), PAIRS)
def test_pairs(one, other, path):
    assert found({0: one, 1: other}) == ([(0, 1, path)] if path else [])
    assert found({0: one, 1: other}, edges=[(0, 1)]) == []


def test_an_order_through_other_nodes_counts():
    touched = {0: {"/f": WRITTEN}, 3: {"/f": LOOKED}}
    assert found(touched, edges=[(0, 1), (1, 2), (2, 3)]) == []
    assert found(touched, edges=[(0, 1), (2, 3)]) == [(0, 3, "/f")]


def test_the_serial_order_says_which_came_first():
    dag = Dag(2)
    assert conflicts(dag, [1, 0], {0: {"/f": WRITTEN}, 1: {"/f": LOOKED}})[0][:3] == (1, 0, "/f")


def test_a_crowd_costs_little():
    """Thousands that race for one path are compared with their neighbours; others not at all."""
    count = 500
    touched = {node: {"/log": WRITTEN, f"/own/{node}": WRITTEN} for node in range(count)}
    assert found(touched, edges=[(node, node + 1) for node in range(count - 1)]) == []
    some = found(touched)
    assert count - 1 <= len(some) <= count * 64
    assert {(node, node + 1, "/log") for node in range(count - 1)} <= set(some)


flags = st.sampled_from([LOOKED, ABSENT, WRITTEN, MADE_FOLDER, ENSURED | LOOKED, REMOVED, LISTED, WRITTEN | NAMED])
paths = st.sampled_from(["/a", "/a/b", "/a/b/c", "/d"])
effects = st.dictionaries(st.integers(0, 6), st.dictionaries(paths, flags, max_size=4), min_size=1)
edge_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] < edge[1]))


@given(effects, edge_lists)
def test_it_agrees_with_a_plain_search(touched, edges):
    reached = {node: {node} for node in range(7)}
    for _ in range(7):
        for before, after in edges:
            reached[before] |= reached[after]
    free = {(one, two) for one, two, _ in found(touched, edges, size=7)}
    for one, two in free:
        assert two not in reached[one]
    for one, two in itertools.combinations(sorted(touched), 2):
        alone = found({one: touched[one], two: touched[two]}, size=7)
        if alone and two not in reached[one]:
            assert (one, two) in free


@given(effects, edge_lists)
def test_more_order_is_never_more_races(touched, edges):
    assert set(found(touched, edges, size=7)) <= set(found(touched, size=7))


@given(flags, flags)
def test_readers_never_clash(one, other):
    quiet = LOOKED | ABSENT | LISTED | BELOW
    if not (one | other) & ~quiet:
        assert not clash(one, other)
    assert not clash(LISTED, ENSURED | LOOKED | BELOW)
    assert clash(LISTED, ENTRY)
