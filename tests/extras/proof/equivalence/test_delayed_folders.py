"""States that make a folder, need it and remove it, behind one that leaves it or fails to, in every order of the plan.

The plan does not order all of them: behind a state that leaves the folder, the others wait for each other only if that
one fails. So each tree runs for real at one slot, with each state delayed. Rows and files must be the same.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os

import pytest
from delayed_features import features

from asyncstate import StateRuntime
from asyncstate.extras.proof.shake.in_process import shake_in_process
from asyncstate.extras.proof.shake.report import result_lines

NEW = "<D>/new"
PROOFS = {
    "directory": ("file.directory", {"name": NEW}),
    "directory, another mode": ("file.directory", {"name": NEW, "mode": "0700"}),
    "a directory below": ("file.directory", {"name": f"{NEW}/below", "makedirs": True}),
    "managed, makedirs": ("file.managed", {"name": f"{NEW}/p", "contents": "p", "makedirs": True}),
    "fails": ("file.directory", {"name": NEW, "group": "no-such-group"}),
    "fails without its folder": ("file.managed", {"name": f"{NEW}/p", "contents": "p"}),
    "is skipped": ("file.directory", {"name": NEW, "onlyif": "false"}),
    "creates nothing": ("file.managed", {"name": f"{NEW}/p", "create": False, "makedirs": True, "contents": "p"}),
}
ACTS = {
    "makes": ("file.managed", {"name": f"{NEW}/m", "contents": "m", "makedirs": True}),
    "makes another mode": ("file.managed", {"name": f"{NEW}/n", "contents": "n", "makedirs": True, "dir_mode": "0711"}),
    "makes one below": ("file.touch", {"name": f"{NEW}/below/t", "makedirs": True}),
    "needs": ("file.managed", {"name": f"{NEW}/x", "contents": "x"}),
    "needs one below": ("file.append", {"name": f"{NEW}/below/y", "text": "y"}),
    "looks": ("cmd.run", {"name": f"ls {NEW} | wc -l"}),
    "tests": ("file.managed", {"name": "<R>/out/t", "contents": "t", "onlyif": f"test -d {NEW}"}),
    "makes by a command": ("cmd.run", {"name": f"mkdir -p {NEW}/c"}),
    "removes": ("file.absent", {"name": NEW}),
    "settles": ("file.directory", {"name": NEW, "mode": "0750"}),
}


def filled(arguments, place):
    return {
        key: value.replace("<D>", place.folder).replace("<R>", place.root) if isinstance(value, str) else value
        for key, value in arguments.items()
    }


def is_folder(name):
    return os.path.isdir(name.removeprefix("path:"))


class Folders:
    def __init__(self, world):
        self.world = world

    async def holes(self, trees):
        broken = []
        async with StateRuntime(self.world.settings()) as runtime:
            for named in trees:
                place = self.world.place
                tree = {
                    str(number): {function: [{key: value} for key, value in filled(arguments, place).items()]}
                    for number, (_, (function, arguments)) in enumerate(named)
                }
                self.world.make("file", repository=False)
                plan = await runtime.compile_data(tree)

                async def run(priority, plan=plan):
                    async with runtime.run(plan, concurrency=1, priority=priority, events=False, lock=False) as run:
                        pass
                    return run.report

                prepare = lambda: self.world.make("file", repository=False)  # noqa: E731
                result = await shake_in_process(plan, str(self.world.root), prepare, run)
                if result.broken_off or result.found:
                    broken.append(([name for name, _ in named], "\n".join(result_lines(plan, result))))
        return broken


@pytest.fixture
def folders(world):
    return Folders(world)


TREES = [
    (proof, first, second) for proof in PROOFS.items() for first, second in itertools.permutations(ACTS.items(), 2)
]


def test_some_orders_behind_a_folder(folders):
    assert asyncio.run(folders.holes(TREES[:: len(TREES) // 16])) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("proof", PROOFS)
def test_every_order_behind_a_folder(folders, proof):
    assert asyncio.run(folders.holes(tree for tree in TREES if tree[0][0] == proof)) == []


def test_what_a_state_leaves_is_there_when_it_has_succeeded(folders):
    """Each feature runs alone: a folder that it says to leave is there, or it did not succeed."""
    declared = importlib.import_module("asyncstate.states.file").mod_footprint

    async def lacking():
        named = [*((each.name, each.function, each.declaration(folders.world.place)) for each in features())]
        found, looked = [], 0
        async with StateRuntime(folders.world.settings()) as runtime:
            for name, function, declaration in named:
                if not function.startswith("file."):
                    continue
                low = {key: value for each in declaration[function] for key, value in each.items()}
                left = declared({"fun": function.partition(".")[2], "name": name, **low}).get("leaves", ())
                if not left or "onlyif" in low:
                    continue
                folders.world.make("missing", repository=False)
                plan = await runtime.compile_data({"x": declaration})
                async with runtime.run(plan, events=False, lock=False) as run:
                    pass
                (row,) = run.report.rows.values()
                if row["result"] is True:
                    looked += 1
                    found += [name for each in left if not is_folder(each)]
        return found, looked

    found, looked = asyncio.run(lacking())
    assert found == []
    assert looked > 8
