from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import beside

from asyncstate.render.source_lines import SourceLines

TABLES = beside(__file__)


def lines(source, rendered):
    mapping = SourceLines(source, rendered)
    return [mapping.line(number) for number in range(1, len(rendered.splitlines()) + 1)]


@pytest.mark.parametrize(("source", "rendered", "expected"), TABLES["lines are found"])
def test_lines_are_found(source, rendered, expected):
    assert lines(source, rendered) == expected


def test_a_line_beyond_the_end_is_the_last():
    mapping = SourceLines("{# #}\na\n", "\na\n")
    assert mapping.line(9) == 2
    assert mapping.line(0) == SourceLines("a", "").line(1) == 0


@given(st.lists(st.text("ab:{}%# -", max_size=6), max_size=12))
def test_text_that_stayed_maps_to_itself(texts):
    source = "\n".join(f"{number} {text.replace('{', '')}" for number, text in enumerate(texts))
    assert lines(source, source) == list(range(1, len(texts) + 1))


def test_long_loops_are_matched_quickly():
    source = "".join(f"{{% for i in l %}}\nk{n}_{{{{ i }}}}:\n  test.nop: []\n{{% endfor %}}\n" for n in range(100))
    rendered = "".join(f"k{n}_{i}:\n  test.nop: []\n" for n in range(100) for i in range(40))
    found = lines(source, rendered)
    assert found[:2] == [2, 3]
    assert found[-2:] == [4 * 99 + 2, 4 * 99 + 3]
