import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet import subjects

TEXTS = st.text() | st.text("=.*> aB-_é\ud800/", max_size=8)


def fits(pattern, key):
    words = pattern.split(".")
    tokens = key.split(".")
    if words[-1] == ">":
        return len(tokens) >= len(words) and all(map(fnmatch.fnmatchcase, tokens, words[:-1]))
    return len(words) == len(tokens) and all(map(fnmatch.fnmatchcase, tokens, words))


@given(TEXTS)
def test_a_token_is_safe_and_gives_its_text_back(text):
    token = subjects.token(text)
    assert re.fullmatch(r"[A-Za-z0-9_=-]+", token)
    assert subjects.text_of(token) == text


@given(st.text("=0AaF.é*", max_size=6))
def test_a_text_that_is_no_token_is_refused(text):
    try:
        found = subjects.text_of(text)
    except ValueError:
        return
    assert subjects.token(found) == text


def test_an_ordinary_name_can_be_read():
    assert subjects.token("web-1_a") == "web-1_a"
    assert subjects.offer("web1.example.com", "r1") == "to.web1=2Eexample=2Ecom.r1.offer"
    assert subjects.parts("row.a.r1.b=2Ec.c3") == ("row", "a", "b.c", "r1", "c3")
    with pytest.raises(ValueError, match="not a token"):
        subjects.parts("plan.a..b")
    with pytest.raises(ValueError, match="not a key"):
        subjects.parts("to.a.r1")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_key_gives_back_what_it_was_made_of(reader, writer, run, node):
    named = {"offer": (reader, run), "go": (reader, run), "stop": (reader, run), "lost": (reader, run, writer)}
    named |= {"row": (reader, writer, run, node), "plan": (writer, run), "report": (writer, run)}
    for kind, names in named.items():
        if all(names):
            assert subjects.parts(getattr(subjects, kind)(*names)) == (kind, *names)


def written_to(reader, writer, run, node):
    """Every key of a run, as: kind, who writes it (None: the operator), who reads it (None: the operator)."""
    return [
        (subjects.offer(reader, run), None, reader),
        (subjects.go(reader, run), None, reader),
        (subjects.lost(reader, run, writer), None, reader),
        (subjects.stop(reader, run), None, reader),
        (subjects.row(reader, writer, run, node), writer, reader),
        (subjects.plan(writer, run), writer, None),
        (subjects.report(writer, run), writer, None),
        (subjects.end(writer, run), writer, None),
        (subjects.event(writer), writer, None),
        (subjects.lease(writer), writer, None),
        (subjects.host(writer), writer, None),
        (subjects.log(writer, node), writer, None),
        (subjects.run(run), None, None),
        (subjects.held(run, reader), None, None),
        (subjects.barrier(reader, run, -3), None, reader),
        (subjects.reached(writer, run, 7), writer, None),
    ]


NAMES = st.text("ab.*>=", min_size=1, max_size=3)


@given(NAMES, NAMES, NAMES, NAMES, NAMES)
def test_patterns_let_each_read_and_write_its_own_and_nothing_else(reader, writer, other, run, node):
    for key, by, to in written_to(reader, writer, run, node):
        for host in {reader, writer, other}:
            assert any(fits(each, key) for each in subjects.written_by(host)) == (host == by), key
            assert any(fits(each, key) for each in subjects.read_by(host)) == (host == to), key
        assert any(fits(each, key) for each in subjects.WRITTEN_BY_OPERATOR) == (by is None), key
        if to is None:
            assert any(fits(each, key) for each in subjects.READ_BY_OPERATOR), key


def test_all_hosts_see_the_pulse_of_a_run_and_none_makes_it():
    assert any(fits(each, subjects.pulse("r")) for each in subjects.read_by("a"))
    assert not any(fits(each, subjects.pulse("r")) for each in subjects.written_by("a"))


@given(NAMES, NAMES, NAMES, NAMES)
def test_patterns_of_many_fit_their_keys(reader, writer, run, node):
    assert fits(subjects.rows(reader, run), subjects.row(reader, writer, run, node))
    assert fits(subjects.offer(reader), subjects.offer(reader, run))
    assert fits(subjects.lost(reader, run), subjects.lost(reader, run, writer))
    for key in (subjects.offer(reader, run), subjects.go(reader, run), subjects.stop(reader, run)):
        assert fits(subjects.mail(reader, run), key)
    assert fits(subjects.plans(run), subjects.plan(writer, run))
    assert fits(subjects.reports(run), subjects.report(writer, run))
    assert fits(subjects.lease(), subjects.lease(writer))
    assert fits(subjects.host(), subjects.host(writer))
    assert fits(subjects.log(writer), subjects.log(writer, node))
    assert fits(subjects.run(), subjects.run(run))
    assert fits(subjects.held(run), subjects.held(run, reader))
    assert fits(subjects.goes(run), subjects.go(reader, run))
    assert fits(subjects.rows_written(writer, run), subjects.row(reader, writer, run, node))
    assert fits(subjects.all_reached(run), subjects.reached(writer, run, -3))


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (subjects.go("db1", "r"), "go"),
        (subjects.row("db1", "web", "r", "3"), "row"),
        (subjects.lost("db1", "r", "web"), "lost"),
        (subjects.lease("db1"), "lease"),
        (subjects.report("db1", "r"), "report"),
        ("to.db1", ""),
        ("", ""),
    ],
)
def test_the_kind_of_a_key(key, kind):
    assert subjects.kind(key) == kind
