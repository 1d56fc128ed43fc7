"""Each feature that has nothing to do after an apply says so in a dry run, too: then `--detailed-exitcode` gives 0."""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest
from delayed_features import Feature, features, rows_of

from asyncstate import StateRuntime

PLAIN = {"enforce_toplevel": False}
OF_THE_TREE = [
    Feature("archive: of the tree", "archive.extracted", {"name": "<D>/u", "source": "salt://src.tar", **PLAIN}),
    Feature(
        "archive: known hash",
        "archive.extracted",
        {"name": "<D>/u", "source": "<R>/src.tar", "source_hash": "<H>", "skip_files_list_verify": True, **PLAIN},
    ),
    Feature("file.cached: of the tree", "file.cached", {"name": "salt://s.txt"}),
    Feature("file.cached: hash", "file.cached", {"name": "salt://src.tar", "source_hash": "<H>"}),
]
FEATURES = [*(each for each in features() if not each.name.startswith("cmd: ")), *OF_THE_TREE]


async def rows_of_three(world, feature, kind):
    """The rows of two applies and of a dry run after them."""
    world.make(kind, repository="git: " in feature.name)
    archive = (world.root / "src.tar").read_bytes()
    (world.root / "salt" / "src.tar").write_bytes(archive)
    declared = feature.declaration(world.place)
    hashed = sha256(archive).hexdigest()
    (arguments,) = declared.values()
    arguments[:] = [{key: hashed if value == "<H>" else value for key, value in each.items()} for each in arguments]
    async with StateRuntime(world.settings()) as runtime:
        plan = await runtime.compile_data({"a": declared})
        runs = [await rows_of(runtime, plan, test=test) for test in (False, False, True)]
    return [row for rows in runs for row in rows.values()]


async def loud(world, sample, kind):
    for feature in sample:
        _, again, dry = await rows_of_three(world, feature, kind)
        if again["result"] is True and not again["changes"] and (dry["result"] is not True or dry["changes"]):
            yield feature.name, dry["comment"]


async def _collected(world, sample, kind):
    return [each async for each in loud(world, sample, kind)]


@pytest.mark.feature("F112")
def test_some_features(world):
    assert asyncio.run(_collected(world, [*FEATURES[::8], *OF_THE_TREE], "file")) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "missing"])
def test_every_feature(world, kind):
    assert asyncio.run(_collected(world, FEATURES, kind)) == []
