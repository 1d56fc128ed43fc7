"""Pairs of features that meet in one place: what a dry run says of the second, and what applying both does then.

Each pair is a tree whose second state requires the first. What the dry run calls failed fails, and what it calls
unchanged does not change; all else it may leave open. All pairs take about eight minutes of one processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest
from delayed_features import features, rows_of

from asyncstate import StateRuntime

FEATURES = features()
PAIRS = list(itertools.permutations(FEATURES, 2))


async def lies_of(world, runtime, first, second, kind):
    """What the dry run says of the two states and does not come true."""
    declared = second.declaration(world.place)
    declared[second.function].append({"require": [{"id": "first"}]})
    tree = {"first": first.declaration(world.place), "second": declared}
    repository = "git: " in first.name + second.name
    world.make(kind, repository=repository)
    plan = await runtime.compile_data(tree)
    foretold = await rows_of(runtime, plan, test=True)
    said = {tag: row for tag, row in foretold.items() if row["result"] is not None and not row["changes"]}
    if not said:
        return
    world.make(kind, repository=repository)
    done = await rows_of(runtime, plan)
    for tag, row in said.items():
        if row["result"] is False and done[tag]["result"] is not False:
            yield f"{tag} failed: {row['comment']}"
        if row["result"] is True and done[tag]["changes"]:
            yield f"{tag} unchanged: {row['comment']}, but {done[tag]['changes']}"


async def lies(world, sample):
    found = []
    async with StateRuntime(world.settings()) as kept:
        for (first, second), kind in itertools.product(sample, ("file", "missing")):
            own = StateRuntime(world.settings()) if first.fresh or second.fresh else contextlib.nullcontext(kept)
            async with own as runtime:
                told = lies_of(world, runtime, first, second, kind)
                found += [(first.name, second.name, kind, lie) async for lie in told]
    return found


@pytest.mark.feature("F112")
def test_some_pairs(world):
    assert asyncio.run(lies(world, PAIRS[:: len(PAIRS) // 60])) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", FEATURES, ids=lambda feature: feature.name)
def test_every_pair(world, first):
    assert asyncio.run(lies(world, [pair for pair in PAIRS if pair[0] is first])) == []
