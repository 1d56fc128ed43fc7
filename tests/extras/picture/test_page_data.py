from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.analyse.profile import Timing
from asyncstate.extras.picture.page_data import PageData, PageState, assign_lanes


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 3))))
def test_bars_of_a_lane_never_overlap(spans):
    timings = sorted(
        (Timing(str(n), started=at, ended=at + took) for n, (at, took) in enumerate(spans)), key=lambda t: t.started
    )
    lanes = {}
    for timing, lane in zip(timings, assign_lanes(timings), strict=True):
        assert lanes.get(lane, 0.0) <= timing.started
        lanes[lane] = timing.ended


def states(number):
    return [PageState(function="f", id=str(each), kind="changed") for each in range(number)]


def test_states_that_waited_for_each_other_keep_their_edges():
    """No run tells that, but a damaged record can."""
    data = PageData(states=states(2))
    data.join([(0, 1, ["require"], (), False), (1, 0, ["require"], (), False)])
    assert data.edges == [(0, 1, 0, True), (1, 0, 0, True)]


def test_a_graph_that_is_too_large_has_no_edges_that_others_stand_for(monkeypatch):
    monkeypatch.setattr("asyncstate.extras.picture.page_data._MOST_EDGES", 2)
    data = PageData(states=states(3))
    data.join((before, after, ["require"], (), False) for before, after in ((0, 1), (1, 2), (0, 2)))
    assert data.edges == [(0, 1, 0, True), (1, 2, 0, True)]
