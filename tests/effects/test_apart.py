"""States apart wait for none and none waits for them: the scoreboard says the same with and without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_footprints import Joins

from asyncstate.effects.apart import Apart
from asyncstate.effects.declared import Footprint
from asyncstate.effects.scoreboard import Scoreboard

PARTS = st.lists(st.sampled_from(["a", "b", "a#k", "..", ".", "", "~u"]), min_size=0, max_size=4)
PATHS = PARTS.map(lambda parts: "path:/" + "/".join(parts))
NAMES = (
    PATHS
    | PATHS.map(lambda path: f"{path}/**")
    | st.sampled_from(["user:u", "user:u#id", "user:v", "path:~u/a", "path:a"])
)
MAKES = st.tuples(PATHS, st.sampled_from(["", "?0700:u:u"])).map("".join)


def some(names, most=2):
    return st.lists(names, max_size=most).map(tuple)


FOOTPRINTS = st.builds(Footprint, reads=some(NAMES), writes=some(NAMES), makes=some(MAKES, 1), leaves=some(PATHS, 1))


def waits(footprints, left_out=()):
    """Return what each footprint waits for, with the nodes of a set in its place."""
    sets = Joins()
    board = Scoreboard(sets.join)
    found = {}
    for node, each in enumerate(footprints):
        if node not in left_out:
            waiting = board.touch(node, each.reads, each.writes, each.makes, each.leaves)
            found[node] = (
                {(before, names) for other, names in waiting.always.items() for before in sets.members(other)},
                {(before, proof) for other, proof in waiting.contingent for before in sets.members(other)},
            )
    return found


@given(st.lists(FOOTPRINTS, max_size=7))
def test_a_scoreboard_without_the_states_apart_says_the_same(footprints):
    apart = Apart(footprints)
    left_out = {node for node, each in enumerate(footprints) if apart.has(each)}
    every = waits(footprints)
    assert all(every[node] == (set(), set()) for node in left_out)
    assert {node: said for node, said in every.items() if node not in left_out} == waits(footprints, left_out)


@pytest.mark.parametrize(
    ("others", "is_apart"),
    [
        ([], True),
        ([Footprint(writes=("path:/d/g",), reads=("path:/d",))], True),
        ([Footprint(writes=("path:/d",))], False),
        ([Footprint(makes=("path:/d/e",))], False),
        ([Footprint(makes=("path:/c/d",))], True),
        ([Footprint(reads=("path:/**",))], False),
        ([Footprint(reads=("path:/d/f/below",))], False),
        ([Footprint(reads=("path:/d/./f",))], False),
        ([Footprint(writes=("path:/d/f#entry",))], False),
    ],
)
def test_a_file_is_apart_from(others, is_apart):
    file = Footprint(reads=("path:/d",), writes=("path:/d/f",))
    assert Apart([file, *others]).has(file) is is_apart
