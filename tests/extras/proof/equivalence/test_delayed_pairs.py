"""Pairs of features that meet in one place run in every order that the plan allows, with real effects.

Each pair is a tree whose states have no requisites. Where the plan allows another order, it runs at one slot, in serial
order and with each state delayed. Rows and files must be the same, unless `asyncstate lint` names one of the two states
as one with unknown effects. Two thirds of the pairs are ordered, and need no run.

Each state of a pair without an order also runs whole at every door of the other one to the machine: see `doors`.

All pairs take about seven minutes of one processor, all that meet through a link twelve, and all that overlap an hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from pathlib import Path

import pytest
from delayed_features import features
from doors import Doors

from asyncstate import StateRuntime
from asyncstate.extras.proof.shake.in_process import shake_in_process
from asyncstate.extras.proof.shake.orders import Orders
from asyncstate.extras.proof.shake.outcome import Outcome, Tolerance, differences, entries
from asyncstate.extras.proof.shake.report import result_lines
from asyncstate.extras.proof.shake.search import Result

FEATURES = features()
PAIRS = list(itertools.permutations(FEATURES, 2))
NAMED = {feature.name: feature for feature in FEATURES}
RECORDED = json.loads((Path(__file__).parents[3] / "recorded" / "meeting_functions.json").read_text())
ELSEWHERE = (
    *("alias.", "alternatives.", "debconf.", "iptables.", "locale.", "lvm.", "mysql_", "pip.", "pkg.", "pkgrepo."),
    *("cmd.wait", "group.", "service.", "user."),
)
"""Functions that work on the whole machine, or only after a change: their tests have fakes or a machine of their own."""
IGNORED = ("*/.git/index", "*/.git/logs/*", "*/FETCH_HEAD")


class Pairs:
    """Runs pairs, and keeps one runtime as long as no feature changes it."""

    def __init__(self, world):
        self.world = world
        self.overlaps = {True: 0, False: 0}

    def runtime(self, order="footprint"):
        return StateRuntime(self.world.settings(implicit_order=order))

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
        return plan, await shake_in_process(plan, str(self.world.root), prepare, run, ignore=IGNORED)

    async def overlapped(self, runtime, first, second, order="footprint"):
        """What differs from a serial run where one of two states runs whole at a door of the other."""
        tree = self.tree(first, second, linked=False)
        repository = "git: " in first.name + second.name
        fresh = first.fresh or second.fresh
        root = str(self.world.root)

        async def outcome(outer="", inner="", at=-1):
            self.world.make(first.world, repository=repository)
            async with self.runtime(order) if fresh else contextlib.nullcontext(runtime) as own:
                with Doors(root, outer, inner, at) if outer else contextlib.nullcontext() as doors:
                    width = 2 if outer else 1
                    async with own.run(plan, concurrency=width, events=False, lock=False) as run:
                        pass
            paths = {root + path.rstrip("/"): entry for path, entry in entries(root).items()}
            return Outcome(run.report.repeatable_rows, paths), doors

        self.world.make(first.world, repository=repository)
        async with self.runtime(order) if fresh else contextlib.nullcontext(runtime) as own:
            plan = await own.compile_data(tree)
        orders = Orders(plan)
        if plan.unknown or not orders.every_delay(orders.serial):
            return
        tolerance = Tolerance(IGNORED)
        serial, _ = await outcome()
        tolerance.learn(differences(serial, (await outcome())[0]))
        for outer, inner in itertools.permutations(("first", "second")):
            _, doors = await outcome(outer, inner)
            for at in range(doors.passed):
                found, doors = await outcome(outer, inner, at)
                self.overlaps[doors.overlapped] += 1
                for each in tolerance.beyond(differences(serial, found)):
                    yield f"{inner} at door {at} of {outer}: {each}"


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


async def differing(pairs, sample):
    found = []
    async with pairs.runtime() as runtime:
        for first, second in sample:
            found += [(first.name, second.name, each) async for each in pairs.overlapped(runtime, first, second)]
    return found


@pytest.fixture
def pairs(world):
    return Pairs(world)


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


def test_pairs_of_public_formulas_are_among_them():
    """Functions that meet in a path in real trees are those of features, or run somewhere else."""
    run_here = {feature.function for feature in FEATURES}
    missing = {name for pair in RECORDED["pairs"]["path"] for name in pair[:2]} - run_here
    assert {name for name in missing if not name.startswith(ELSEWHERE)} == set()


def test_pairs_of_public_formulas_and_some_others_that_overlap(pairs):
    first_of = {feature.function: feature for feature in reversed(FEATURES)}
    real = [pair[:2] for pair in RECORDED["pairs"]["path"] if first_of.keys() >= set(pair[:2])]
    sample = [(first_of[one], first_of[other]) for one, other in real if one != other]
    found = asyncio.run(
        differing(pairs, [*sample, (NAMED["file.absent: folder"], NAMED["environ: condition"]), *PAIRS[7::997]])
    )
    assert found == []
    assert pairs.overlaps[True]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", FEATURES, ids=lambda feature: feature.name)
def test_every_pair_that_overlaps(pairs, first):
    """Each state runs whole at each door of the other."""
    pairs_of = [pair for pair in PAIRS if pair[0] is first]
    assert asyncio.run(differing(pairs, pairs_of)) == []


def test_pairs_that_nothing_orders_do_differ(pairs):
    """What the other tests look for is there: without footprints, most of these pairs leave something else behind."""
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
                _, result = await pairs.shaken(runtime, NAMED[first], NAMED[second], order="none")
                found = [each async for each in pairs.overlapped(runtime, NAMED[first], NAMED[second], order="none")]
                yield bool(result.found and found)

    async def collected():
        return [differs async for differs in differing()]

    assert asyncio.run(collected()) == [True] * len(meeting)
