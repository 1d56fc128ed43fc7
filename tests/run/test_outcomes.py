"""Outcomes of ended nodes, as dependents see them; `test_machine.py` has the effect on a whole run."""

import pytest
from plans import PlanBuilder

from asyncstate.model.result import Outcome
from asyncstate.run.gate import Verdict
from asyncstate.run.outcomes import Outcomes

OK = Outcome(result=True, changed=False)
CHANGED = Outcome(result=True, changed=True)
FAILED = Outcome(result=False, changed=False)
WOULD = Outcome(result=None, changed=True)


def early(kind, *ended, more=()):
    """What is known of a chunk that requires ``a`` and ``b`` in one way, after the first of them have ended."""
    builder = PlanBuilder().chunk("a").chunk("b").chunk("c").chunk("last", **{kind: ["a", "b"]}, **dict(more))
    outcomes = Outcomes(builder.build())
    for node, outcome in enumerate(ended):
        outcomes.put(node, outcome)
    return outcomes.exclude(3)


@pytest.mark.parametrize(
    ("kind", "ended", "excluded"),
    [
        ("require", (), False),
        ("require", (FAILED,), True),
        ("watch", (FAILED,), True),
        ("require", (CHANGED, OK), False),
        ("require_any", (FAILED,), False),
        ("require_any", (FAILED, OK), False),
        ("require_any", (FAILED, FAILED), True),
        ("onchanges", (OK,), False),
        ("onchanges", (OK, OK), True),
        ("onchanges", (CHANGED, OK), False),
        ("onfail", (OK,), False),
        ("onfail", (OK, OK), True),
        ("onfail", (FAILED, OK), False),
    ],
)
def test_what_will_not_run_is_known_as_soon_as_nothing_can_change_it(kind, ended, excluded):
    assert early(kind, *ended) is excluded


def test_what_decides_alone_does_not_wait_for_other_requisites():
    assert early("onchanges", OK, OK, more={"require": ["c"]}.items())
    assert not early("onchanges", CHANGED, OK, more={"require": ["c"]}.items())
    assert not early("require", OK, OK, more={"onchanges": ["c"]}.items())


def test_a_chunk_without_requisites_may_always_run():
    outcomes = Outcomes(PlanBuilder().chunk("a").build())
    assert not outcomes.exclude(0)
    assert outcomes.verdict(0) is Verdict.MET


def test_a_failure_that_its_check_did_not_foresee_is_told_to_other_hosts_as_such():
    plan = PlanBuilder().chunk("prep", prereq=["deploy"]).chunk("deploy").chunk("plain").build()
    for check, unforeseen in ((WOULD, True), (FAILED, False), (None, False)):
        outcomes = Outcomes(plan)
        node = outcomes.check_of[1]
        if check is not None:
            outcomes.put(node, check)
        assert outcomes.told(1) is None
        outcomes.put(1, FAILED)
        assert outcomes.told(1) == Outcome(result=False, changed=False, unforeseen=unforeseen)
        assert outcomes.told(node) == check, "a check is no state"
        outcomes.put(2, FAILED)
        assert outcomes.told(2) == FAILED
        outcomes.put(1, CHANGED)
        assert outcomes.told(1) == CHANGED
