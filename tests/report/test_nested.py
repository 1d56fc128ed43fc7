from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from record_answers import read, recorded
from tables import beside, rows

from asyncstate.report.nested import diff_lines, is_diff, nested_lines
from asyncstate.report.terminal import COLOURED, without_control

TABLES = beside(__file__)


@rows(("data", "lines"), recorded("nested").items())
def test_the_lines_are_salts(data, lines):
    assert list(nested_lines(read(data))) == lines
    assert list(nested_lines(read(data), 2))[-1] == f"  {lines[-1]}"


def test_bytes_and_sets():
    assert list(nested_lines({"raw": b"a\xff", "some": {"y", "x"}})) == TABLES["bytes and sets"]


def test_the_empty_lines_that_some_states_put_into_a_diff_are_not_shown():
    assert list(diff_lines("--- \n\n+++ \n\n@@ -0,0 +1,2 @@\n\n+a\n\n+b")) == [
        "--- ", "+++ ", "@@ -0,0 +1,2 @@", "+a", "", "+b",
    ]  # fmt: skip


def test_diffs_are_coloured_by_line():
    diff = "--- old\n+++ new\n@@ -1 +1 @@\n-a\n+b\n c\n"
    assert is_diff(diff)
    assert list(map(without_control, nested_lines(diff, 2, COLOURED))) == TABLES["diffs are coloured by line"]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_any_value_becomes_lines_a_terminal_can_show(value):
    for line in nested_lines(value, 4):
        assert line.startswith("    ")
        assert not any(character in line for character in "\n\r\x1b\x07")
