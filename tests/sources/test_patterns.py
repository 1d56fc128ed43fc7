import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import match
from tables import beside

from asyncstate.sources import patterns
from asyncstate.sources.patterns import _form, require_fast

TABLES = beside(__file__)

ENDLESS = ["(a+)+b", "(a*)*b", "(a|aa)+b", "(?:a|a?)+b", "(a{1,9}){2,}b", "((a)+)+b", "a*a*a*a*a*a*a*a*a*a*a*a*b"]


@pytest.mark.parametrize(
    "pattern", [*ENDLESS[:3], *(pytest.param(each, marks=pytest.mark.slow) for each in ENDLESS[3:])]
)
def test_a_pattern_that_does_not_end_is_refused(pattern, monkeypatch):
    monkeypatch.setattr(patterns, "_TRIAL", patterns._TRIAL.replace("(5, 5)", "(1, 1)"))
    with pytest.raises(ValueError, match=match("endless-pattern", pattern=repr(pattern))):
        require_fast(pattern, "a" * 40)


@pytest.mark.parametrize("pattern", [*ENDLESS, "(", "*", "a{99999999999}", None, 5, "(a+)+"])
def test_short_texts_and_what_is_no_pattern_pass(pattern):
    require_fast(pattern, "a" * 15)
    require_fast(pattern, None)


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(a+)+", r"(\w+\.)*\w+", "(?P<a>[a-z]+)-(?P<b>.*)"])
def test_what_ends_passes(pattern):
    require_fast(pattern, "abc.def.ghi-jkl" * 10)


@pytest.mark.parametrize(("pattern", "form"), TABLES["the form of a pattern"])
def test_the_form_of_a_pattern(pattern, form):
    assert [*_form(pattern)] == form


@given(st.text("ab()[]*+?|\\^{},1"))
def test_any_text_has_a_form(pattern):
    nested, repetitions = _form(pattern)
    assert not nested or "(" in pattern
    assert repetitions <= len(pattern)


def test_ordinary_patterns_start_no_process(monkeypatch):
    monkeypatch.setattr("asyncstate.process.child.run_child", None)
    for pattern in ("a+b", "^web[0-9]+", "(a|b)c", r"^(\d+)\.(\d+)", re.escape("(a+)+")):
        require_fast(pattern, "web17.example.org" * 3)
