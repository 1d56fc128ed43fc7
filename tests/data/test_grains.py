"""A grain that is set by path is found by path."""

from __future__ import annotations

import pytest

from asyncstate.data.grains import with_value
from asyncstate.data.paths import traverse


@pytest.mark.parametrize("step", ["0", "-1", "+1", " 1", "--1", "- 1", "x", "", "1_0", "é"])
@pytest.mark.parametrize("items", [[7, 8], [{"x": 1}, 8], ["x", 8], [{1: 2}, {"--1": 3}]])
def test_what_is_set_in_a_list_is_found(step, items):
    grains = {"top": items}
    if step == "1_0":
        items = items * 10
        grains = {"top": items}
    name, value = with_value(grains, f"top:{step}", "new", ":", force=True, destructive=False)
    assert name == "top"
    assert traverse({"top": value}, f"top:{step}") == "new"


@pytest.mark.parametrize("step", ["80", "null", "None", "true", "1.5", "x", "[a]", "~", "0x50", "2020-01-01"])
@pytest.mark.parametrize("top", ["top", "5", "true"])
def test_what_is_set_in_a_mapping_is_found_once(step, top):
    inner = {80: 1, None: 1, True: 1, 1.5: 1, "x": 1}
    grains = {top: inner, 5: dict(inner), True: dict(inner)}
    path = f"{top}:{step}"
    there = traverse(grains, path) == 1
    name, value = with_value(grains, path, "new", ":", force=True, destructive=False)
    assert name in grains
    assert traverse({name: value}, path) == "new"
    assert len(value) == len(inner) + (not there)
    name, value = with_value({**grains, name: value}, path, None, ":", force=True, destructive=True)
    assert traverse({name: value}, path, "gone") == "gone"
