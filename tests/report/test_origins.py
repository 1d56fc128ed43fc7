from __future__ import annotations

from asyncstate.report.origins import origin_line


def test_a_tree_of_bundled_states_needs_no_word():
    assert not origin_line({"bundled": {"test": 1}, "borrowed": {}, "custom": {}, "missing": {}})
