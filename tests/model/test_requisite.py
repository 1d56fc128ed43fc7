import pytest

from asyncstate.model.requisite import DIRECT, IN_SUFFIXED, INTERNAL_KEYWORDS, RequisiteKind


def test_weights_are_the_order_of_precedence():
    ordered = sorted(RequisiteKind, key=lambda kind: kind.weight)
    assert [kind.value for kind in ordered][:4] == ["onfail", "onfail_any", "onfail_all", "require"]
    assert RequisiteKind.LISTEN.weight == 11


@pytest.mark.parametrize(
    ("kind", "family"),
    [("require_any", "require"), ("onfail_all", "onfail"), ("watch", "watch"), ("prereq", "prereq")],
)
def test_family(kind, family):
    assert RequisiteKind(kind).family is RequisiteKind(family)


def test_internal_keywords_are_requisites_in_forms_and_global_arguments():
    assert {kind.value for kind in DIRECT} < INTERNAL_KEYWORDS
    assert set(IN_SUFFIXED) < INTERNAL_KEYWORDS
    assert {"onlyif", "retry", "order", "__id__", "use", "onfail_stop"} < INTERNAL_KEYWORDS
    assert {"name", "aggregate", "timeout", "require_any_in"}.isdisjoint(INTERNAL_KEYWORDS)
