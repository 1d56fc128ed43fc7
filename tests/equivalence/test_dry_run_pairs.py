"""Pairs of features that meet in one place: what a dry run says of the second, and what applying both does then.

Each pair is a tree whose second state requires the first. What the dry run calls failed fails, and what it calls
unchanged does not change; all else it may leave open. All pairs take about twelve minutes of one processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import itertools
import re

import pytest
from delayed_features import KEY, Feature, each_in_a_pair, features, rows_of
from machine_features import FAMILIES
from recording import filled
from tables import beside

from asyncstate import StateRuntime
from docs.bundled import bundled_modules

TABLES = beside(__file__)

MORE = [
    Feature(name, function, arguments, fresh=function.startswith("grains."))
    for name, calls in filled(TABLES["more"], {"<key>": KEY, "<user>": getpass.getuser()}).items()
    for function, arguments in calls.items()
]
"""Features for pairs of dry runs alone: delayed pairs take longer."""

APART = TABLES["apart"]
"""The bundled states that are in no pair, by the reason."""

FEATURES = features() + MORE
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


def test_every_bundled_state_is_in_pairs_or_meets_no_other():
    """Those of a file or a folder are here, those of accounts, packages and the kernel in tests/support/machine_features.py."""
    modules = bundled_modules("states").items()
    bundled = {f"{name}.{each}" for name, providers in modules for module in providers for each in module.functions}
    paired = {feature.function for feature in [*FEATURES, *(each for family in FAMILIES.values() for each in family)]}
    unpaired = {name for name in bundled if not any(re.fullmatch(pattern, name) for pattern in APART.values())}
    assert unpaired - paired == set()


@pytest.mark.feature("F112")
def test_some_pairs(world):
    """Every feature is in one of them."""
    assert asyncio.run(lies(world, list(each_in_a_pair(FEATURES)))) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", FEATURES, ids=lambda feature: feature.name)
def test_every_pair(world, first):
    assert asyncio.run(lies(world, [pair for pair in PAIRS if pair[0] is first])) == []
