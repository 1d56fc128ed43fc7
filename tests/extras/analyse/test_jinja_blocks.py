import pytest

from asyncstate.extras.analyse.jinja_blocks import lines_in_blocks


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a\nb\n", set()),
        ("{% set x = 1 %}\n{% do x %}\n{{ x }}\n", set()),
        ("a\n{% if x %}\nb\n{% endif %}\nc\n", {2, 3, 4}),
        ("{%- for x in y -%}\n{% if x %}\na\n{% endif %}\n{%- endfor -%}\nb\n", {1, 2, 3, 4, 5}),
        ("{% set x %}\na\n{% endset %}\n", {1, 2, 3}),
        ("{% macro m(a=1) %}\na\n{% endmacro %}\nb\n{{ m() }}\n", {1, 2, 3}),
        ("{% raw %}\n{% if %}\n{% endraw %}\na\n", {1, 2, 3}),
        ("{# {% if x %} #}\na\n", set()),
        ("a\n{% if x %}\nb\n", {2, 3, 4}),
        ("a\n{% if x\n", {1, 2, 3}),
        ("{% import 'x' as y with context %}\n{% include 'z' %}\na\n", set()),
    ],
)
def test_lines(text, inside):
    assert lines_in_blocks(text) == inside
