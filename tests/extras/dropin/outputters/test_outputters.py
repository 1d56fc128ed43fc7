"""Outputters by themselves; ``tests/extras/dropin`` compares the output of salt-call."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.dropin.outputters import OUTPUTTERS, PRETTY, Form, printed

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="ascii", categories=["L", "N"]))
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc_", min_size=1), inner))


def _printed(value, name, **form):
    complaints = []
    text = printed({"local": value}, name, Form(**form), complaints.append)
    return text, complaints


@given(DATA)
def test_every_outputter_shows_any_data(value):
    for name in OUTPUTTERS:
        text, complaints = _printed(value, name)
        assert isinstance(text, str)
        assert complaints == []


@given(DATA)
def test_json_and_yaml_can_be_read_again(value):
    for indent in ("unset", PRETTY, None, -1, 0, 2):
        assert json.loads(_printed(value, "json", indent=indent)[0]) == {"local": value}
        if indent != 0:
            assert yaml.safe_load(_printed(value, "yaml", indent=indent)[0]) == {"local": value}


def test_json_on_one_line_and_with_sorted_keys():
    value = {"b": [1], "a": {}}
    assert _printed(value, "json", indent=-1)[0] == '{"local": {"b": [1], "a": {}}}'
    assert _printed(value, "json", indent=None)[0] == '{"local": {"b": [1], "a": {}}}'
    assert _printed(value, "json", indent=PRETTY)[0].index('"a"') < _printed(value, "json", indent=PRETTY)[0].index(
        '"b"'
    )


def test_newline_values_only_has_a_line_for_each_value():
    assert _printed({"a": [1, {"b": "two"}], "c": None}, "newline_values_only")[0] == "1\ntwo\nNone"


def test_quiet_says_nothing():
    assert _printed({"a": 1}, "quiet")[0] == ""


def test_text_is_another_name_of_txt():
    assert _printed("a\nb", "text")[0] == _printed("a\nb", "txt")[0] == "local: a\nlocal: b"


def test_an_unknown_outputter_is_named_and_nested_takes_its_place():
    text, complaints = _printed([1], "jsno")
    assert text == _printed([1], "nested")[0]
    assert complaints == ["Invalid outputter jsno specified, fall back to nested"]


@pytest.mark.parametrize("value", [[{"a": 1}, "text"], [], 5, None])
def test_what_is_no_table_has_no_lines(value):
    assert "|" not in _printed(value, "table")[0]


def test_a_table_wraps_long_cells_and_takes_salts_options():
    rows = [{"some_name": "word " * 20, "b": 1}]
    text = _printed(rows, "table")[0]
    assert "Some Name" in text
    assert all(len(line) < 80 for line in text.splitlines())
    opts = {"out.table.delim": " ! ", "out.table.justify": "left", "out.table.row_delimiter": "="}
    assert "1 ! word word" in _printed(rows, "table", opts=opts)[0]
    assert "=====" in _printed(rows, "table", opts=opts)[0]
