from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.render.source_lines import SourceLines


def lines(source, rendered):
    mapping = SourceLines(source, rendered)
    return [mapping.line(number) for number in range(1, len(rendered.splitlines()) + 1)]


@pytest.mark.parametrize(
    ("source", "rendered", "expected"),
    [
        ("a\nb\n", "a\nb\n", [1, 2]),
        ("{% set x = 1 %}\na: 1\n{# note\n over lines #}\nb: 2\n", "\na: 1\n\nb: 2\n", [0, 2, 2, 5]),
        ("{% for i in l %}\n{{ i }}:\n  pkg.installed\n{% endfor %}\nlast:\n", "\nx:\n  pkg.installed\n\ny:\n  pkg.installed\n\nlast:\n",
         [0, 2, 3, 3, 2, 3, 3, 5]),
        ("v_{{ n }}_{{ m }}:\nw_{{ n }}:\n", "w_1:\nv_1_2:\nw_3:\n", [2, 1, 2]),
        ("a:\n  x: 1\n{% if c %}\nb:\n{% endif %}\n  x: 1\n", "a:\n  x: 1\n\nb:\n  x: 1\n", [1, 2, 2, 4, 6]),
        ("{%- if a\n   and b %}\nyes:\n{%- endif %}\n", "\nyes:\n", [0, 3]),
        ("{{ everything }}\n", "anything\n", [0]),
        ("x: {{ a }}{# ? #}\n", "x: (1|2)*\n", [1]),
    ],
)  # fmt: skip
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
