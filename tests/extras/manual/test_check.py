"""check reports wrong values, too."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_check import BROKEN, places_in_a_broken_tree, run, tree  # noqa: F401 - fixtures


def test_a_broken_pillar_and_a_broken_target_hide_no_wrong_value(run, tree, tmp_path):  # noqa: F811
    of_tree = [(f"{name}.sls", *place) for name in "ac" for place in (("2", "E401"), ("3", "E411"), ("4", "E410"))]
    assert places_in_a_broken_tree(run, tmp_path, "mode: rwx") == sorted([*BROKEN, *of_tree])


@pytest.mark.parametrize("wrong", ["1s", "-1", ".nan", "[5]"])
def test_a_time_limit_that_is_none_is_a_mistake_of_any_state(run, tree, wrong):  # noqa: F811
    (tree / "_states" / "plain.py").write_text('def run(name):\n    return {"result": True, "changes": {}}\n')
    (tree / "limited.sls").write_text(f"a:\n  plain.run:\n    - timeout: {wrong}\n")
    done = run("check", "limited")
    assert done.returncode == 1
    assert re.search(
        r"'timeout' of 'plain.run' must be a number of seconds, not .*\n.*limited.sls:3 \[E418\]", done.stdout
    )


def test_it_names_the_command_that_explains_a_code(run, tree):  # noqa: F811
    assert re.search(r"\nWhat a code means: asyncstate explain E4\d\d\n$", run("check", "wrong").stdout)
