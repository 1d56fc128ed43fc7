"""Two nodes, one path, no order between them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.proof.trace.races import BELOW, ENTRY, clash, conflicts
from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, SET, WRITTEN
from asyncstate.model.dag import Dag


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


FOUND_FOLDER = ENSURED | LOOKED
MAKERS = {
    "the same mode": ({"made 0755"}, {"made 0755"}, False),
    "another mode": ({"made 0700"}, {"made 0755"}, True),
    "nothing known": (set(), {"made 0755"}, False),
    "one sets a mode": ({"made 0700", "mode 0750"}, {"made 0755"}, False),
    "both set one": ({"made 0700", "mode 0750"}, {"made 0755", "mode 0750"}, False),
    "both set another": ({"made 0755", "mode 0750"}, {"made 0755", "mode 0700"}, True),
    "one mode after the other": ({"made 0755", "mode 0750", "mode 0700"}, {"made 0755", "mode 0750"}, True),
    "its maker sets one": ({"made 0700", "first 0750"}, {"made 0700"}, False),
    "its maker sets one, another mode": ({"made 0700", "first 0750"}, {"made 0755"}, True),
    "another one sets another": ({"made 0700", "first 0750"}, {"made 0700", "mode 0700"}, True),
    "another one sets the same": ({"made 0700", "first 0750"}, {"made 0755", "mode 0750"}, False),
    "one owner": ({"made 0755", "owner 33 33"}, {"made 0755", "owner 33 33"}, False),
    "two owners": ({"made 0755", "owner 33 33"}, {"made 0755", "owner 0 0"}, True),
    "one sets the owner": ({"made 0755", "owner 33 33"}, {"made 0755"}, False),
    "an owner is no mode": ({"made 0700", "owner 33 33"}, {"made 0755"}, True),
    "times": ({"made 0755", "time"}, {"made 0755", "time"}, False),
}


@pytest.mark.parametrize("case", MAKERS)
def test_two_makers_of_a_folder_race_if_it_matters_who_is_first(case):
    one, other, is_race = MAKERS[case]
    for before, after in ((MADE_FOLDER, FOUND_FOLDER | SET), (MADE_FOLDER | SET, FOUND_FOLDER)):
        touched = {0: {"/d": before, "/d/a": WRITTEN | NAMED}, 1: {"/d": after, "/d/b": WRITTEN | NAMED}}
        marks = {0: {"/d": one}, 1: {"/d": other}}
        assert bool(conflicts(Dag(2), range(2), touched, marks)) == is_race


def test_a_maker_that_lists_the_names_races_with_one_that_adds_some():
    assert found({0: {"/d": MADE_FOLDER | LISTED}, 1: {"/d": FOUND_FOLDER, "/d/f": MADE}}) == [(0, 1, "/d")]
    assert found({0: {"/d": MADE_FOLDER}, 1: {"/d": FOUND_FOLDER | LISTED}}) == []


def test_who_only_looks_at_a_folder_races_with_who_sets_its_mode():
    assert found({0: {"/d": FOUND_FOLDER | SET}, 1: {"/d": LOOKED}}) == [(0, 1, "/d")]


def test_two_states_with_one_temporary_folder_race():
    assert found({0: {"/t": MADE | REMOVED}, 1: {"/t": MADE | REMOVED}}) == [(0, 1, "/t")]
    assert found({0: {"/t": MADE_FOLDER, "/t/f": MADE}, 1: {"/t": MADE | REMOVED}}) == [(0, 1, "/t")]
