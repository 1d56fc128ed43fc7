"""In its third apply, each tree of tests/recorded/undone changes and fails at what Salt changes and fails at."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys

import pytest
from debian_machine import missing
from record_undone import FOLDER, TREES, make_sources, tree_of, undone
from third_apply import third_apply

ANSWERS = json.loads((FOLDER / "answers.json").read_text())
IS_ROOT = os.geteuid() == 0
TO_NOTHING = {"link and a written file that is no link", "forced link and a written file that is no link"}
"""Trees with a link to nothing, which file.managed of Salt does not replace."""


def needed(tree):
    """What this machine must have for a tree."""
    text = json.dumps(tree)
    return [each for each, lacks in (
        ("git", '"git.' in text and shutil.which("git") is None),
        ("root", ('"user"' in text or '"group"' in text or changes_the_machine(tree)) and not IS_ROOT),
        ("namespaces", changes_the_machine(tree) and (missing() or not shutil.which("useradd"))),
    ) if lacks]  # fmt: skip


def changes_the_machine(tree):
    """Whether a tree may change more than files in a scratch folder."""
    inside = ("file.", "archive.", "git.", "ini.", "x509.")
    return not all(function.startswith(inside) for states in tree.values() for function in states)


@pytest.fixture(scope="module")
def contained():
    """A function that applies a tree three times with accounts of its own, and returns the last rows."""
    command = [sys.executable, third_apply.__globals__["__file__"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def apply(root, tree):
            program.stdin.write(json.dumps([str(root), tree]) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield apply
        program.stdin.close()


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """What the trees unpack and clone."""
    folder = tmp_path_factory.mktemp("sources")
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patch.setenv(variable, f"{folder}/none")
        make_sources(folder, repository=shutil.which("git") is not None)
        yield folder


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(bool(needed(tree)), reason=f"needs {needed(tree)}"))
        for name, tree in TREES.items()
        if name not in TO_NOTHING
    ],
)
def test_what_is_undone_is_done_again_as_by_salt(tmp_path, monkeypatch, contained, sources, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    tree = tree_of(name, tmp_path)
    shutil.copytree(sources, tmp_path, dirs_exist_ok=True, symlinks=True)
    rows = contained(tmp_path, tree) if changes_the_machine(tree) else asyncio.run(third_apply(tmp_path, tree))
    assert undone(rows) == ANSWERS[name]
