"""Pairs of states that change accounts, packages, services and the kernel: the dry run compared with the apply.

As in test_dry_run_pairs.py, but in an isolated throw-away root (`asyncstate.extras.proof.shake.room`).
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from apt_root import needs_apt
from delayed_features import each_in_a_pair
from machine_features import FAMILIES, build_root

from asyncstate.extras.proof.shake.python import this_python
from asyncstate.extras.proof.shake.room import Stage
from asyncstate.extras.proof.shake.rooms import refusal
from asyncstate.model.encode import encoded

PAIRS = [
    (family, first.name, second.name)
    for family, features in FAMILIES.items()
    for first, second in itertools.permutations(features, 2)
]
ENVIRON = {
    "PATH": "/programs:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}
NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net", "--propagation=private")


def lies(folder, pairs, *, foresight=True):
    root, work = folder / "root", folder / "work"
    root.mkdir()
    work.mkdir()
    build_root(root)
    reason = refusal(str(root))
    if reason:
        pytest.skip(reason)
    python = this_python()
    *command, boot = python.command
    command.append(boot.replace("asyncstate.extras.proof.shake.room_program", "pairs_inside"))
    job = json.dumps({"pairs": pairs, "foresight": foresight})
    stage = Stage(str(root), str(work), python.mounts, command, {**ENVIRON, **python.environ}, job)
    unshare = ["unshare", *NAMESPACES, "--", sys.executable, "-m", "asyncstate.extras.proof.shake.room"]
    done = subprocess.run(unshare, input=encoded(stage), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen["code"] == 0, done.stderr.decode()[-4000:]
    return json.loads(seen["answer"])


pytestmark = needs_apt


@pytest.mark.feature("F112")
def test_some_pairs(tmp_path):
    """Every feature is in one of them."""
    pairs = [
        (family, first.name, second.name)
        for family, features in FAMILIES.items()
        for first, second in each_in_a_pair(features)
    ]
    assert lies(tmp_path, pairs) == []


def test_pairs_do_differ_where_nothing_is_foreseen(tmp_path):
    """What the other tests look for is there."""
    pairs = [
        ("packages", "pkg.installed", "file.replace: /etc/sun.conf"),
        ("kernel", "kmod.present", "kmod.absent"),
    ]
    assert {(first, second) for first, second, *_ in lies(tmp_path, pairs, foresight=False)} == {
        (first, second) for _, first, second in pairs
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_pair(tmp_path, family):
    assert lies(tmp_path, [pair for pair in PAIRS if pair[0] == family]) == []
