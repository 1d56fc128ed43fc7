import pytest
from tables import rows

from asyncstate.model.requisite import Requisite, RequisiteKind
from asyncstate.model.result import Outcome
from asyncstate.run.gate import NOT_RUN, Verdict, target_marks, verdict

OUTCOMES = {
    "ok": Outcome(result=True, changed=False),
    "changed": Outcome(result=True, changed=True),
    "failed": Outcome(result=False, changed=False),
    "failed+changed": Outcome(result=False, changed=True),
    "would": Outcome(result=None, changed=False),
    "would+changed": Outcome(result=None, changed=True),
    "skip_req": Outcome(result=True, changed=True, skip_req=True),
    "not run, fine": Outcome(result=True, changed=False, ran=False),
    "not run, failed": Outcome(result=False, changed=False, ran=False),
}


def decide(*pairs: tuple[str, str]) -> Verdict:
    requisites = [Requisite(RequisiteKind(kind), number) for number, (kind, _) in enumerate(pairs)]
    outcomes = [OUTCOMES[name] for _, name in pairs]
    return verdict(requisites, lambda node, family: target_marks(family, outcomes[node]))


TRUTH = {
    # target           require  watch         onchanges    onfail    prereq
    "ok": ("met", "met", "onchanges", "onfail", "pre"),
    "changed": ("met", "change", "met", "onfail", "pre"),
    "failed": ("fail", "fail", "onchanges", "met", "fail"),
    "failed+changed": ("fail", "fail", "onchanges", "met", "fail"),
    "would": ("met", "met", "onchanges", "met", "met"),
    "would+changed": ("met", "change", "met", "met", "met"),
    "skip_req": ("met", "skip_watch", "skip_req", "onfail", "pre"),
    "not run, fine": ("met", "met", "onchanges", "onfail", "pre"),
    "not run, failed": ("fail", "fail", "onchanges", "met", "fail"),
}
KINDS = ("require", "watch", "onchanges", "onfail", "prereq")


@pytest.mark.feature("F064", "F065", "F066", "F067", "F068")
@rows(
    ("kind", "target", "expected"),
    [(kind, target, row[column]) for target, row in TRUTH.items() for column, kind in enumerate(KINDS)],
)
def test_one_requisite(kind, target, expected):
    assert decide((kind, target)) == expected


@rows("kind", ["require_any", "watch_any", "onchanges_any", "onfail_any", "onfail_all"])
@rows("target", [name for name in TRUTH if name != "skip_req"])
def test_any_and_all_of_one_target_decide_like_the_plain_kind(kind, target):
    plain = kind.removesuffix("_any").removesuffix("_all")
    assert decide((kind, target)) == decide((plain, target))


@pytest.mark.feature("F072")
@rows(
    ("pairs", "expected"),
    [
        ([("require", "ok"), ("require", "failed")], "fail"),
        ([("require_any", "ok"), ("require_any", "failed")], "met"),
        ([("require_any", "failed"), ("require_any", "failed")], "fail"),
        ([("watch", "changed"), ("watch", "failed")], "fail"),
        ([("watch_any", "changed"), ("watch_any", "failed")], "change"),
        ([("watch", "ok"), ("watch", "changed")], "change"),
        ([("onchanges", "failed"), ("onchanges", "changed")], "met"),
        ([("onchanges", "ok"), ("onchanges", "changed")], "met"),
        ([("require_any", "not run, fine"), ("require_any", "failed")], "fail"),
        ([("onchanges_any", "changed"), ("onchanges_any", "ok")], "met"),
        ([("onfail", "ok"), ("onfail", "failed")], "met"),
        ([("onfail_any", "ok"), ("onfail_any", "failed")], "met"),
        ([("onfail_all", "ok"), ("onfail_all", "failed")], "onfail"),
        ([("onfail_all", "failed"), ("onfail_all", "failed")], "met"),
        ([("onchanges", "ok"), ("require", "failed")], "fail"),
        ([("onchanges", "changed"), ("require_any", "failed")], "fail"),
        ([("onfail", "failed"), ("require", "ok")], "met"),
        ([("onfail", "ok"), ("require", "failed")], "fail"),
        ([("onfail", "ok"), ("require", "ok")], "onfail"),
        ([("onchanges", "changed"), ("onfail", "ok")], "onfail"),
        ([("onchanges", "ok"), ("onfail", "failed")], "onchanges"),
        ([("onchanges", "ok"), ("onfail", "ok")], "onfail"),
        ([("onchanges", "ok"), ("watch", "changed")], "onchanges"),
        ([("require", "changed"), ("watch", "changed")], "change"),
        ([("prereq", "ok"), ("prereq", "would")], "met"),
        ([("prereq", "ok"), ("require", "ok")], "pre"),
        ([("prereq", "would"), ("onchanges", "ok")], "onchanges"),
        ([("prereq", "would"), ("watch", "changed")], "change"),
        ([("prereq", "would"), ("require", "failed")], "fail"),
    ],
)
def test_mixed_requisites(pairs, expected):
    assert decide(*pairs) == expected


def test_no_requisites_are_met():
    assert decide() == Verdict.MET


def test_every_verdict_either_runs_or_has_words():
    assert {v for v in Verdict if not v.runs} == {*NOT_RUN, Verdict.FAIL}
