from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import match

from asyncstate import dunders
from asyncstate.dunders import changed, failed, make_row, unchanged, would_change
from asyncstate.model.result import REQUIRED_KEYS
from asyncstate.run.rows import normalise

NAMES = st.text(max_size=8)
COMMENTS = st.text(max_size=8)
CHANGES = st.dictionaries(st.text(max_size=4), st.none() | st.text(max_size=4) | st.integers(0, 9), max_size=3)


@pytest.mark.parametrize(
    ("row", "result", "changes", "comment"),
    [
        (unchanged("it"), True, {}, ""),
        (unchanged("it", "Fine"), True, {}, "Fine"),
        (changed("it", "Done", {"old": 1, "new": 2}), True, {"old": 1, "new": 2}, "Done"),
        (changed("it", "Done, to no effect", {}), True, {}, "Done, to no effect"),
        (would_change("it", "To do"), None, {}, "To do"),
        (would_change("it", "To do", {"new": 2}), None, {"new": 2}, "To do"),
        (failed("it", "No"), False, {}, "No"),
        (failed("it", "Half", {"new": 2}), False, {"new": 2}, "Half"),
        (make_row("it", "As it went", {"new": 2}, result=None), None, {"new": 2}, "As it went"),
        (make_row("it", "", None, result=False), False, {}, ""),
    ],
)
def test_each_way_a_state_can_end(row, result, changes, comment):
    assert row == {"name": "it", "changes": changes, "result": result, "comment": comment}
    assert tuple(row) == REQUIRED_KEYS, "the keys stand in one order, whichever function made the row"


@pytest.mark.parametrize("changes", [["a"], "installed", [("old", 1)], {"a"}, 3])
def test_changes_that_are_no_dictionary_are_refused(changes):
    with pytest.raises(TypeError, match=match("changes", kind=type(changes).__name__)):
        changed("it", "Done", changes)


@given(NAMES, COMMENTS, CHANGES, st.sampled_from([True, False, None]))
def test_the_engine_takes_a_made_row_as_it_is(name, comment, changes, result):
    row = make_row(name, comment, changes, result=result)
    assert type(row) is dict
    assert normalise(row, "other") == row


@given(CHANGES)
def test_a_row_and_what_it_was_made_of_go_their_own_ways(changes):
    before = dict(changes)
    made = [changed("it", "", changes), would_change("it", "", changes), failed("it", "", changes)]
    changes["later"] = 1
    made[0]["changes"]["also later"] = 1
    assert [row["changes"] for row in made[1:]] == [before, before]
    assert "later" not in made[0]["changes"]
    assert unchanged("it")["changes"] is not unchanged("it")["changes"]


def test_plugins_get_all_of_it_where_they_get_the_dunders():
    own = [name for name, value in vars(dunders).items() if getattr(value, "__module__", "") == dunders.__name__]
    public = [name for name in own if not name.startswith("_")]
    assert public == ["unchanged", "changed", "would_change", "not_told", "failed", "make_row"]
    assert {*public, "Row"} <= {*dunders.__all__}
