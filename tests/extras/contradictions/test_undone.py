"""Contradictions recorded from Salt (tests/extras/support/record_undone.py) are errors of check."""

from __future__ import annotations

import json

import pytest
from bundled_states import Bundled
from record_undone import FOLDER, TREE, TREES
from trees import plan

ANSWERS = json.loads((FOLDER / "answers.json").read_text())
ONLY_A_RUN_TELLS = {
    "archive in a cleaned folder that leaves some out",  # whether it leaves out all that is in the archive
    "archive that overwrites below a file",  # whether the file or the folder was there first
    "file above an archive",
    "file below a link to nothing",  # whether there is a folder
    "archive and a file of it that is removed",  # whether it is in the archive
    "reset clone and a file of it that is written",  # whether it is in the repository
    "copy over a written file",  # what is in the other file
    "folder that is copied over, and a file of it",  # what else is copied
    "two words that replace each other",  # whether the file has one of them
    "folder and a copy over it",  # whether that is a folder, too
    "forced link and a folder",  # whether it leads to a folder
    "branch of a first clone and another revision",  # whether that is of the branch
    "mount and an edit of its line",  # how the line in fstab is written
    "two replacements of one line",  # whether the file has the line
    "two values of one key",
    "options and a file with them",  # whether its lines are as they are written anew
    "package source and its file without it",  # whether another file has it
    "removed group of the name of a user",  # whether the machine makes a group for a user
}
"""Trees with two states that may undo each other's work, as lint warns."""
CHANGES_BY_ITSELF = {"folder and a file that is touched", "copy of a written file over the same"}
THROUGH_A_LINK = {"link to a written file, and that written too", "hard link to a written file and an added line"}
"""Trees in which a state changes, through a link, a file that it does not name."""


def contradictions(name, order):
    files = {f"salt://{path}": text for path, text in TREE.items()}
    made = plan({"s": json.dumps(TREES[name]), **files}, ["s"], states=Bundled(), implicit_order=order)
    return made, [each for each in made.contradictions if each.code == "E430"]


def ids_of(made, found):
    return {made.chunks[index].id for each in found for index in (each.first, each.second)}


@pytest.mark.parametrize("order", ["footprint", "none"])
@pytest.mark.parametrize("name", [name for name in TREES if name not in ONLY_A_RUN_TELLS])
def test_what_salt_does_in_each_run_is_a_mistake(name, order):
    made, found = contradictions(name, order)
    found = [each for each in found if each.certain]
    named = ids_of(made, found)
    changed, failed = set(ANSWERS[name]["changed"]), set(ANSWERS[name]["failed"])
    if name in CHANGES_BY_ITSELF:
        assert (len(changed), named) == (1, set())
    elif failed:
        failing = [each for each in found if "one of them fails" in each.message]
        assert failed < ids_of(made, failing)
        assert ids_of(made, [each for each in found if each not in failing]) <= changed
    elif name in THROUGH_A_LINK:
        assert named < changed
    else:
        assert named == changed
        assert all("to and fro" in each.message for each in found)


@pytest.mark.parametrize("name", sorted(ONLY_A_RUN_TELLS))
def test_what_only_a_run_can_tell_is_for_lint(name):
    made, found = contradictions(name, "footprint")
    assert not any(each.certain for each in found)
    assert ids_of(made, found) >= set(ANSWERS[name]["changed"] + ANSWERS[name]["failed"]) > set()
