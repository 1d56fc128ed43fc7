from __future__ import annotations

import pytest
from tables import beside

from asyncstate.errors import Issue
from asyncstate.report.issues import issue_lines, warning_lines
from asyncstate.report.terminal import (
    COLOURED,
    PLAIN,
    Palette,
    clean,
    count,
    date_and_time,
    short_time,
    without_control,
)

TABLES = beside(__file__)


@pytest.mark.parametrize(
    ("seconds", "text"),
    TABLES["short time"],
)
def test_short_time(seconds, text):
    assert short_time(seconds) == text


def test_count():
    assert count(1, "state") == "1 state"
    assert count(0, "state") == "0 states"
    assert count(2, "entry", "entries") == "2 entries"


def test_paint():
    assert PLAIN.paint(PLAIN.red, "x") == "x"
    assert without_control(COLOURED.paint(COLOURED.red, "x")) == "\x1b[31mx\x1b[0m"
    assert COLOURED.paint(COLOURED.red, "") == ""


def test_clean_spells_out_what_shows_text_in_another_order():
    assert clean("sh\u202egpj.exe\u2069 a\u2028b\u061c") == "sh\\u202egpj.exe\\u2069 a\\u2028b\\u061c"
    assert clean("👩\u200d🚒 ") == "👩\u200d🚒 "


def test_clean_keeps_text_and_spells_out_control_characters():
    assert clean("žluťoučký\tkůň\n") == "žluťoučký\tkůň\n"
    assert clean("a\r\nb\x9b31m\x00") == "a\nb\\x9b31m\\x00"
    assert clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(B") == "link \\x1b(B"


def test_compile_errors_have_place_and_hint():
    issues = [Issue("Rendering SLS 'base:web' failed: x\ny\n", "/srv/web.sls", 3, "did you mean z?"), Issue("other")]
    assert list(issue_lines(issues)) == TABLES["compile errors have place and hint"]


def test_warnings_are_marked_by_a_word():
    assert list(warning_lines([Issue("odd\nvery", "/f.sls")])) == ["warning: odd", "    very", "      at /f.sls"]


def test_only_the_colours_of_this_program_reach_a_terminal():
    ours = COLOURED.paint(COLOURED.red, "no") + Palette.colour("0;1;33") + "tab\t\n" + Palette.colour("0;0")
    assert without_control(ours) == "\x1b[31mno\x1b[0m\x1b[0;1;33mtab\t\n\x1b[0;0m"
    assert clean(ours) == "notab\t\n"
    assert without_control(COLOURED.paint(COLOURED.red, "\x1b[32mno\x1b[0m")) == "\x1b[31mno\x1b[0m"
    assert without_control("a\x1b[8mb\x1b]0;t\x07c\x9b2J\rd\u202ee\r\nf") == "abc\\x9b2J\\rd\\u202ee\nf"
    assert without_control("\x1b") == "\\x1b"


@pytest.mark.parametrize("seconds", [1e300, -1e300, float("inf"), float("nan")])
def test_seconds_that_are_no_date_are_shown_all_the_same(seconds):
    assert date_and_time(seconds) == "?"
    assert date_and_time(0.0).startswith(("1969-12-31 ", "1970-01-01 "))
