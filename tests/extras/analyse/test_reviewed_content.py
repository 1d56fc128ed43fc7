"""What only a dry run has seen is part of the plan that is compared with the tree."""

from __future__ import annotations

import pytest

from tests.guarantees.test_reviewed_content import _sls, _way, _words, _write, tree  # noqa: F401 - a fixture


@pytest.mark.parametrize("way", ["computed import", "contents", "fetched by a plugin", "large"])
def test_a_tree_is_the_same_as_its_plan(way, run_here, tree):  # noqa: F811
    state, name, reviewed, _ = _way(way)
    _write(tree / "roots/tree" / name, reviewed)
    _sls(tree, state, "true")
    plan = tree / "main.plan"
    assert run_here("plan", "main", "--plan-out", plan, *_words(tree)).returncode == 0
    assert run_here("show", "diff", plan, *_words(tree)).stdout == "The plans are the same.\n"
