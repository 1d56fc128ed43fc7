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
