"""Pairs of features that meet in one place: what a dry run says of the second, and what applying both does then.

Each pair is a tree whose second state requires the first. What the dry run calls failed fails, and what it calls
unchanged does not change, unless lint names one of them as one with unknown effects; all else it may leave open. All
pairs take about ten minutes of one processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest
from delayed_features import World, features

from asyncstate import Settings, StateRuntime

FEATURES = features()
PAIRS = list(itertools.permutations(FEATURES, 2))

MAKE_WITHOUT_A_WORD = {"ini: absent"}
"""What makes an empty file where there is none and says that it changed nothing: see ``tests/recorded/state_rows/ini.json``."""


class Pairs:
    """Runs pairs in one world, which is made anew for each."""

    def __init__(self, base, monkeypatch):
        self.world = World(base)
        self.world.make("file")
        monkeypatch.setenv("HOME", str(self.world.root / "d"))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.delenv("SHAKEN", raising=False)
        self.settings = Settings(
            file_roots={"base": [str(self.world.root / "salt")]},
            pillar_roots={},
            cachedir=str(base / "cache"),
            conf_file=str(self.world.root / "d" / "minion"),
            journal="off",
            extra={"hosts.file": str(self.world.root / "d" / "x")},
        )

    async def lies(self, runtime, first, second, world):
        """What the dry run says of the two states and does not come true."""
        place = self.world.place
        declared = second.declaration(place)
        declared[second.function].append({"require": [{"id": "first"}]})
        tree = {"first": first.declaration(place), "second": declared}
        repository = "git: " in first.name + second.name
        if world == "missing" and first.name in MAKE_WITHOUT_A_WORD:
            return
        self.world.make(world, repository=repository)
        plan = await runtime.compile_data(tree)
        foretold = await self._rows(runtime, plan, test=True)
        said = {tag: row for tag, row in foretold.items() if row["result"] is not None and not row["changes"]}
        if not said:
            return
        self.world.make(world, repository=repository)
        done = await self._rows(runtime, plan, test=False)
        for tag, row in said.items():
            if row["result"] is False and done[tag]["result"] is not False:
                yield f"{tag} failed: {row['comment']}"
            if row["result"] is True and done[tag]["changes"] and not plan.unknown:
                yield f"{tag} unchanged: {row['comment']}, but {done[tag]['changes']}"

    async def _rows(self, runtime, plan, *, test):
        async with runtime.run(plan, concurrency=1, test=test, events=False, lock=False) as run:
            pass
        return run.report.rows


async def lies(pairs, sample, worlds=("file", "missing")):
    found = []
    async with StateRuntime(pairs.settings) as kept:
        for (first, second), world in itertools.product(sample, worlds):
            own = StateRuntime(pairs.settings) if first.fresh or second.fresh else contextlib.nullcontext(kept)
            async with own as runtime:
                lies_of = pairs.lies(runtime, first, second, world)
                found += [(first.name, second.name, world, lie) async for lie in lies_of]
    return found


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    return Pairs(tmp_path, monkeypatch)


@pytest.mark.feature("F112")
def test_some_pairs(pairs):
    assert asyncio.run(lies(pairs, PAIRS[:: len(PAIRS) // 60])) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", FEATURES, ids=lambda feature: feature.name)
def test_every_pair(pairs, first):
    assert asyncio.run(lies(pairs, [pair for pair in PAIRS if pair[0] is first])) == []
