import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_answers import GROUPS, MACHINE, PILLAR, ROLES, recorded
from tables import beside, rows

from asyncstate.sources.matchers import Matcher

TABLES = beside(__file__)

MALFORMED = {'["compound", "( ) or web1"]'}
"""Targets whose empty parentheses Python takes for a value."""


def machine(host="web1", groups=GROUPS):
    return Matcher({"id": host, "nodegroups": groups}, {"role": ROLES[host], **MACHINE}, PILLAR)


@pytest.fixture
def matcher():
    return machine()


@rows(("question", "hosts"), recorded("match").items())
def test_hosts_of_a_target(question, hosts):
    """As recorded from Salt, but that nothing raises an exception: what is no expression matches nothing."""
    kind, target = json.loads(question)
    fails = isinstance(hosts, str) or question in MALFORMED
    assert [host for host in sorted(ROLES) if machine(host).match(kind, target)] == ([] if fails else hosts)
    if question in MALFORMED:
        assert machine().mistake(target)


@pytest.mark.parametrize("expr", TABLES["malformed compound matches nothing and warns"])
def test_malformed_compound_matches_nothing_and_warns(matcher, expr, caplog):
    if expr == "()":
        assert not matcher.compound(expr), "taken for a glob: operators stand apart"
        return
    assert matcher.compound(expr) is False
    assert "ompound target" in caplog.text


@pytest.mark.parametrize("expr", ["not E@[", "E@[ or web1", "web1 or E@[", "R@x or web1"])
def test_a_word_that_nothing_can_match_fails_the_whole_target(matcher, expr, caplog):
    assert not matcher.compound(expr)
    assert "Nothing can match" in caplog.text
    assert matcher.mistake(expr)


@pytest.mark.parametrize(("expr", "words"), TABLES["operators that part a nodegroup are named"])
def test_operators_that_part_a_nodegroup_are_named(matcher, expr, words):
    surprise = matcher.surprise(expr)
    assert surprise.startswith(words)
    assert bool(surprise) is bool(words)


@st.composite
def joined(draw, terms):
    """Draw an expression of some terms."""
    first, *others = draw(st.lists(st.sampled_from(terms), min_size=1, max_size=3))
    return " ".join([first, *(f"{draw(st.sampled_from(['and', 'or']))} {each}" for each in others)])


@given(st.data())
def test_parentheses_change_nothing_where_nothing_is_named(data):
    terms = ["web1", "db*", "not db*", "N@a", "N@b", "not N@a", "( N@b )", "not ( N@a )"]
    inner = joined(["web1", "db*", "not web1", "( web1 or db* )"])
    groups = data.draw(st.fixed_dictionaries({"a": inner, "b": inner}))
    expr = data.draw(joined(terms))
    plain = machine(groups=groups)
    together = machine(groups={name: f"( {text} )" for name, text in groups.items()})
    if not plain.mistake(expr) and not plain.surprise(expr):
        assert plain.compound(expr) is together.compound(expr)


def test_an_unknown_kind_is_a_key_error(matcher):
    assert "glob" in matcher.kinds
    with pytest.raises(KeyError):
        matcher.match("globb", "*")


def test_delimiter_can_be_chosen(matcher):
    assert matcher.match("grain", "deep|a|b|c:d", delimiter="|")


WORDS = st.recursive(
    st.sampled_from(["web1", "db*", "G@os:Debian"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map("not ( {} )".format),
        inner.map("( {} )".format),
    ),
    max_leaves=8,
)


@given(WORDS)
def test_compound_agrees_with_python(expr):
    matcher = Matcher({"id": "web1"}, MACHINE, {})
    python = expr.replace("G@os:Debian", "True").replace("db*", "False").replace("web1", "True")
    assert matcher.compound(expr) is eval(python)
