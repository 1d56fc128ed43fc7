"""A host takes each run once, and no run that may be a repetition."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.host import replay
from asyncstate.extras.fleet.host.replay import CLOCKS_DIFFER, KEPT, Taken, take

DAY = 24 * 3600.0
NOW = 1_700_000_000.0
ISSUED = st.lists(st.floats(-2 * DAY, 30 * DAY), min_size=1, max_size=20)
"""When each run was issued."""
OFFERS = ISSUED.flatmap(
    lambda issued: st.lists(
        st.tuples(st.sampled_from(list(enumerate(issued))), st.floats(-2 * DAY, 2 * DAY)).map(
            lambda drawn: (*drawn[0], drawn[1])
        ),
        max_size=40,
    )
)
"""Offers as they arrive, some of them several times: the run, when it was issued, the difference of the clocks then."""


def taken_of(offers, *, most=replay.MOST):
    """Take all offers in order; return what is remembered, and the runs that were taken."""
    taken, begun = Taken(closed=NOW), []
    for run, issued, skew in offers:
        try:
            taken = take(taken, str(run), NOW + issued, NOW + issued + skew)
        except MessageRefused:
            continue
        begun.append(str(run))
        assert len(taken.runs) <= most
    return taken, begun


@given(OFFERS)
def test_no_run_is_taken_twice_whatever_the_clocks_say(offers):
    begun = taken_of(offers)[1]
    assert len(begun) == len(set(begun))


@given(OFFERS, st.floats(-40 * DAY, 400 * DAY))
def test_a_replay_is_refused_at_any_later_time(offers, later):
    taken, begun = taken_of(offers)
    issued = {str(run): NOW + moment for run, moment, _skew in offers}
    for run in begun:
        with pytest.raises(MessageRefused):
            take(taken, run, issued[run], issued[run] + later)


@given(OFFERS)
def test_little_is_remembered_for_it(offers):
    taken, _ = taken_of(offers)
    assert all(taken.closed < issued for issued in taken.runs.values())
    assert all(issued >= max(taken.runs.values()) - KEPT for issued in taken.runs.values())


def test_the_number_of_runs_is_bounded_and_those_dropped_stay_refused(monkeypatch):
    monkeypatch.setattr(replay, "MOST", 5)
    taken, begun = taken_of([(each, each, 0) for each in range(1, 30)], most=5)
    assert len(begun) == 29
    assert sorted(map(int, taken.runs)) == [25, 26, 27, 28, 29]
    for each in range(1, 30):
        with pytest.raises(MessageRefused, match=r"again|repetition"):
            take(taken, str(each), NOW + each, NOW + each)


@given(st.floats(-CLOCKS_DIFFER + 1, CLOCKS_DIFFER - 1))
def test_clocks_may_differ_by_hours(skew):
    assert "r" in take(Taken(), "r", NOW, NOW + skew).runs


@pytest.mark.parametrize(
    ("issued", "words"),
    [(NOW + 3 * DAY, "72 hours ahead"), (NOW - 2 * DAY, "48 hours ago"), (math.nan, "refused"), (math.inf, "refused")],
)
def test_times_that_cannot_be_are_refused(issued, words):
    with pytest.raises(MessageRefused, match=words):
        take(Taken(), "r", issued, NOW)


def test_two_operators_whose_clocks_differ_can_both_start_runs():
    ahead = take(Taken(), "a", NOW + 5 * 3600, NOW)
    assert set(take(ahead, "b", NOW, NOW).runs) == {"a", "b"}


def test_what_was_issued_before_the_enrolment_is_refused():
    with pytest.raises(MessageRefused, match="issued 10 s earlier than the enrolment of this host"):
        take(Taken(closed=NOW), "r", NOW - 10, NOW)
    with pytest.raises(MessageRefused, match=r"issued 3 minutes earlier .* Is the clock of the operator right"):
        take(Taken(closed=NOW), "r", NOW - 180, NOW)
