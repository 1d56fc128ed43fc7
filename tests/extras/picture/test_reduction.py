import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.picture import reduction
from asyncstate.extras.picture.reduction import transitive_reduction


@st.composite
def acyclic(draw, most=20):
    """(size, edges): an acyclic graph; its nodes are numbered in no particular order, some edges are there twice."""
    size = draw(st.integers(0, most))
    name = draw(st.permutations(range(size)))
    pairs = draw(st.lists(st.tuples(st.integers(0, most), st.integers(0, most)), max_size=3 * most))
    return size, [(name[min(pair)], name[max(pair)]) for pair in pairs if pair[0] != pair[1] and max(pair) < size]


def reached(size, edges):
    """What comes after what, by the definition."""
    found = set(edges)
    for via in range(size):
        found |= {(first, last) for first, a in found if a == via for b, last in found if b == via}
    return found


@given(acyclic())
def test_as_much_is_reached_and_every_edge_is_needed(graph):
    size, edges = graph
    kept = transitive_reduction(size, edges)
    assert kept == [edge for edge in dict.fromkeys(edges) if edge in set(kept)]
    everything = reached(size, edges)
    assert reached(size, kept) == everything
    assert all(reached(size, set(kept) - {edge}) != everything for edge in kept)


def test_the_passes_over_a_large_graph_find_what_one_pass_finds(monkeypatch):
    draw = random.Random(7)
    edges = [(before, draw.randrange(before + 1, 400)) for before in range(399) for _ in range(4)]
    at_once = transitive_reduction(400, edges)
    monkeypatch.setattr(reduction, "_BLOCK", 7)
    assert transitive_reduction(400, edges) == at_once
    assert len(at_once) < len(set(edges))


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="a graph with a cycle has no transitive reduction"):
        transitive_reduction(3, [(0, 1), (1, 2), (2, 0)])
