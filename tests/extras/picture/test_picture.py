"""Edges of a picture: the ones it shows, and their form."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.picture.picture import GraphEdge, Picture, Point, around
from asyncstate.model.plan import NodeKind

REASONS = ("require", "watch", "onfail", "require_any", "prereq", "footprint", "stage", "file", "group", "set")
REACTING = {"watch", "onfail", "require_any", "prereq"}


@st.composite
def pictures(draw, size=9):
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda pair: pair[0] < pair[1])
    reasons = st.lists(st.sampled_from(REASONS), min_size=1, max_size=2, unique=True)
    edges = draw(st.dictionaries(pairs, reasons, max_size=25))
    points = [Point(str(number), NodeKind.CHUNK) for number in range(size)]
    return Picture(points, [GraphEdge(*pair, tuple(why)) for pair, why in edges.items()])


def reached(edges):
    found = {(edge.before, edge.after) for edge in edges}
    for via in range(9):
        found |= {(first, last) for first, a in found if a == via for b, last in found if b == via}
    return found


def requiring(edges):
    return [edge for edge in edges if {"require", "watch", "set"} & {*edge.sources}]


@given(pictures())
def test_what_comes_before_what_what_fails_with_what_and_what_reacts_is_still_shown(picture):
    fewer = picture.reduced()
    assert reached(fewer.edges) == reached(picture.edges)
    assert reached(requiring(fewer.edges)) == reached(requiring(picture.edges))
    assert all(edge in fewer.edges for edge in picture.edges if REACTING & {*edge.sources})


@given(pictures())
def test_no_other_edge_could_be_left_out(picture):
    fewer = picture.reduced()
    for edge in fewer.edges:
        rest = [other for other in fewer.edges if other != edge]
        assert (
            REACTING & {*edge.sources}
            or reached(rest) != reached(fewer.edges)
            or reached(requiring(rest)) != reached(requiring(fewer.edges))
        )


def test_the_strongest_requisite_decides_how_an_edge_is_drawn():
    edge = GraphEdge(0, 1, ("require", "footprint"))
    assert edge.kind == "require"
    assert msgspec.structs.replace(edge, sources=("require", "onchanges_any")).kind == "onchanges"
    assert msgspec.structs.replace(edge, sources=("prerequired",)).kind == "prereq"
    assert msgspec.structs.replace(edge, sources=("footprint",)).kind == "footprint"


def test_around_a_state_are_those_two_steps_away_over_edges_that_are_needed():
    pairs = [*((number, number + 1) for number in range(8)), (0, 5), (0, 8)]
    whole = Picture(
        [Point(str(number), NodeKind.CHUNK) for number in range(9)],
        [GraphEdge(*pair, ("require",)) for pair in pairs],
    )
    part = around(whole, [5])
    assert [node.label for node in part.nodes] == ["3", "4", "5", "6", "7"]
    assert [(part.nodes[edge.before].label, part.nodes[edge.after].label) for edge in part.edges] == [
        ("3", "4"), ("4", "5"), ("5", "6"), ("6", "7"),
    ]  # fmt: skip
