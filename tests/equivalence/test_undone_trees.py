"""In its third apply, each tree of tests/recorded/undone changes and fails at what Salt changes and fails at."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys

import pytest
from debian_machine import missing
from record_undone import FOLDER, TREES, make_sources, thrice, tree_of, undone

from asyncstate import Settings, StateRuntime

ANSWERS = json.loads((FOLDER / "answers.json").read_text())
IS_ROOT = os.geteuid() == 0
TO_NOTHING = {"link and a written file that is no link", "forced link and a written file that is no link"}
"""Trees with a link to nothing, which file.managed of Salt does not replace."""


def needed(tree):
    """What this machine must have for a tree."""
    text = json.dumps(tree)
    return [each for each, lacks in (
        ("git", '"git.' in text and shutil.which("git") is None),
        ("root", ('"user"' in text or '"group"' in text) and not IS_ROOT),
        ("namespaces", changes_the_machine(tree) and (missing() or not shutil.which("useradd"))),
    ) if lacks]  # fmt: skip


def changes_the_machine(tree):
    """Whether a tree changes more than files in a scratch folder."""
    return any(function.startswith(("user.", "group.")) for states in tree.values() for function in states)


def contained(root, tree):
    """Apply a tree three times with accounts of its own; return the last rows."""
    (root / "salt" / "s.sls").write_text(json.dumps(tree))
    folders = ["--file-root", root / "salt", "--config", root / "minion", "--out", "json"]
    (root / "minion").write_text(f"{{journal: off, cachedir: {root}/cache, state_dir: {root}/state}}")
    return json.loads(thrice([sys.executable, "-m", "asyncstate", "apply", "s", *folders], root)).values()


async def third_apply(root, tree):
    settings = Settings(
        file_roots={"base": [str(root / "salt")]},
        pillar_roots={},
        cachedir=str(root / "cache"),
        conf_file=str(root / "minion"),
        journal="off",
    )
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data(tree)
        for _ in range(3):
            async with runtime.run(plan, events=False, lock=False) as run:
                pass
        return list(run.report.rows.values())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(bool(needed(tree)), reason=f"needs {needed(tree)}"))
        for name, tree in TREES.items()
        if name not in TO_NOTHING
    ],
)
def test_what_is_undone_is_done_again_as_by_salt(tmp_path, monkeypatch, name):
    for variable, value in {"HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}.items():  # fmt: skip
        monkeypatch.setenv(variable, value)
    tree = tree_of(name, tmp_path)
    make_sources(tmp_path, repository="git." in json.dumps(tree))
    run = contained if changes_the_machine(tree) else lambda *given: asyncio.run(third_apply(*given))
    assert undone(run(tmp_path, tree)) == ANSWERS[name]
