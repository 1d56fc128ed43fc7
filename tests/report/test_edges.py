"""The edges of a plan: each once, with the source that counts."""

from __future__ import annotations

import pytest
from plans import PlanBuilder

from asyncstate.report.edges import family_of, plan_edges


@pytest.mark.parametrize(
    ("sources", "family"),
    [
        (("require", "footprint"), "requisite"),
        (("footprint", "onfail_any"), "requisite"),
        (("listen",), "listen"),
        (("listen", "watch"), "requisite"),
        (("footprint", "stage"), "footprint"),
        (("set",), "set"),
        ((), "set"),
    ],
)
def test_a_requisite_counts_before_an_order(sources, family):
    assert family_of(sources) == family


def test_a_listener_waits_for_its_targets():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).listen("b", "a").build()
    assert [edge for edge in plan_edges(plan) if edge[2] == ("listen",)] == [(0, 2, ("listen",), ())]
    assert (0, 1, ("require",), ()) in plan_edges(plan)
