"""Pairs of features that meet in one place run in every order that the plan allows, with real effects.

Each pair is a tree whose states have no requisites. Where the plan allows another order, it runs at one slot, in serial
order and with each state delayed. Rows and files must be the same, unless `asyncstate lint` names one of the two states
as one with unknown effects. Two thirds of the pairs are ordered, and need no run.

All pairs take about seven minutes of one processor, and all that meet through a link twelve.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest
from delayed_features import World, features

from asyncstate import Settings, StateRuntime
from asyncstate.shake.here import shake_here
from asyncstate.shake.orders import Orders
from asyncstate.shake.report import result_lines
from asyncstate.shake.search import Result

FEATURES = features()
PAIRS = list(itertools.permutations(FEATURES, 2))
IGNORED = ("*/.git/index", "*/.git/logs/*", "*/FETCH_HEAD")


class Pairs:
    """Runs pairs, and keeps one runtime as long as no feature changes it."""

    def __init__(self, base, monkeypatch):
        self.world = World(base)
        self.world.make("file")
        monkeypatch.setenv("HOME", str(self.world.root / "d"))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.delenv("SHAKEN", raising=False)
        self._settings = {
            "file_roots": {"base": [str(self.world.root / "salt")]},
            "pillar_roots": {},
            "cachedir": str(base / "cache"),
            "conf_file": str(self.world.root / "d" / "minion"),
            "extra": {"hosts.file": str(self.world.root / "d" / "x")},
        }

    def runtime(self, order="footprint"):
        return StateRuntime(Settings(**self._settings, implicit_order=order))

    def tree(self, first, second, linked):
        place = self.world.place
        tree = {}
        if linked:
            tree["link"] = {"file.symlink": [{"name": self.world.linked.folder}, {"target": place.folder}]}
        tree["first"] = first.declaration(self.world.linked if linked else place)
        tree["second"] = second.declaration(place)
        return tree

    async def shaken(self, runtime, first, second, *, linked=False, order="footprint"):
        """The plan of a pair, and what the search found."""
        tree = self.tree(first, second, linked)
        repository = "git: " in first.name + second.name

        def prepare():
            self.world.make(first.world, repository=repository)

        async def run_here(priority):
            async with runtime.run(plan, concurrency=1, priority=priority, events=False, lock=False) as run:
                pass
            return run.report

        async def run_fresh(priority):
            async with self.runtime(order) as own:
                async with own.run(plan, concurrency=1, priority=priority, events=False, lock=False) as run:
                    pass
                return run.report

        prepare()
        fresh = first.fresh or second.fresh
        async with self.runtime(order) if fresh else contextlib.nullcontext(runtime) as own:
            plan = await own.compile_data(tree)
        orders = Orders(plan)
        if not orders.every_delay(orders.serial):
            return plan, Result()
        run = run_fresh if fresh else run_here
        return plan, await shake_here(plan, str(self.world.root), prepare, run, ignore=IGNORED)


def unnamed(plan, result):
    """The findings of which lint names neither state."""
    return [found for found in result.found if not any(plan.nodes[node].chunk in plan.unknown for node in found.pair)]


async def holes(pairs, sample, *, linked=False):
    broken = []
    async with pairs.runtime() as runtime:
        for first, second in sample:
            plan, result = await pairs.shaken(runtime, first, second, linked=linked)
            if result.broken_off or unnamed(plan, result):
                broken.append((first.name, second.name, "\n".join(result_lines(plan, result))))
    return broken


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    return Pairs(tmp_path, monkeypatch)


def test_some_pairs(pairs):
    assert asyncio.run(holes(pairs, PAIRS[:: len(PAIRS) // 60])) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", FEATURES, ids=lambda feature: feature.name)
def test_every_pair(pairs, first):
    assert asyncio.run(holes(pairs, [pair for pair in PAIRS if pair[0] is first])) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(8))
def test_pairs_that_meet_through_a_link(pairs, part):
    """A state of the tree makes the link through which the first of the two comes."""
    assert asyncio.run(holes(pairs, PAIRS[part::8], linked=True)) == []


def test_pairs_that_nothing_orders_do_differ(pairs):
    """What the other tests look for is there: without footprints, most of these pairs leave something else behind."""
    named = {feature.name: feature for feature in FEATURES}
    meeting = [
        ("file.managed", "file.append"),
        ("cmd: write", "file.managed: local source"),
        ("cmd: write in cwd", "file.copy: from"),
        ("archive: into", "cmd: read"),
        ("file.absent: folder", "ini: present"),
        ("environ: set", "environ: command"),
    ]

    async def differing():
        async with pairs.runtime(order="none") as runtime:
            for first, second in meeting:
                _, result = await pairs.shaken(runtime, named[first], named[second], order="none")
                yield bool(result.found)

    async def collected():
        return [differs async for differs in differing()]

    assert asyncio.run(collected()) == [True] * len(meeting)
