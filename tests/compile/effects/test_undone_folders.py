"""What Salt changes in each run, as tests/support/record_undone.py has seen it, is an error of check; nothing else is."""

from __future__ import annotations

import json

import pytest
import yaml
from bundled_states import Bundled
from record_undone import FOLDER, TREE, trees
from trees import plan

NAMES = list(yaml.safe_load((FOLDER / "trees.yaml").read_text()))
ANSWERS = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("order", ["footprint", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_what_salt_changes_in_each_run_is_a_mistake(tmp_path, name, order):
    tree = trees(tmp_path)[name]
    files = {f"salt://{path}": text for path, text in TREE.items()}
    made = plan({"s": yaml.safe_dump(tree, sort_keys=False), **files}, ["s"], states=Bundled(), implicit_order=order)
    found = [each for each in made.contradictions if each.code == "E430" and each.certain]
    assert sorted({made.chunks[index].id for each in found for index in (each.first, each.second)}) == ANSWERS[name]
