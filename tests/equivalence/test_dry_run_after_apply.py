"""Each feature that has nothing to do after an apply says so in a dry run, too: then `--detailed-exitcode` gives 0."""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest
from delayed_features import Feature, World, features

from asyncstate import Settings, StateRuntime

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


class Applied:
    def __init__(self, base, monkeypatch):
        self.world = World(base)
        self.world.make("file")
        monkeypatch.setenv("HOME", str(self.world.root / "d"))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.delenv("SHAKEN", raising=False)
        self._settings = Settings(
            file_roots={"base": [str(self.world.root / "salt")]},
            pillar_roots={},
            cachedir=str(base / "cache"),
            conf_file=str(self.world.root / "d" / "minion"),
            journal="off",
            extra={"hosts.file": str(self.world.root / "d" / "x")},
        )

    async def rows(self, feature, world):
        """The rows of two applies and of a dry run after them."""

        self.world.make(world, repository="git: " in feature.name)
        archive = (self.world.root / "src.tar").read_bytes()
        (self.world.root / "salt" / "src.tar").write_bytes(archive)
        declared = feature.declaration(self.world.place)
        hashed = sha256(archive).hexdigest()
        (arguments,) = declared.values()
        arguments[:] = [{key: hashed if value == "<H>" else value for key, value in each.items()} for each in arguments]
        async with StateRuntime(self._settings) as runtime:
            plan = await runtime.compile_data({"a": declared})
            return [row for test in (False, False, True) for row in await self._run(runtime, plan, test=test)]

    async def _run(self, runtime, plan, *, test):
        async with runtime.run(plan, test=test, events=False, lock=False) as run:
            pass
        return run.report.rows.values()


@pytest.fixture
def applied(tmp_path, monkeypatch):
    return Applied(tmp_path, monkeypatch)


async def loud(applied, sample, world):
    for feature in sample:
        _, again, dry = await applied.rows(feature, world)
        if again["result"] is True and not again["changes"] and (dry["result"] is not True or dry["changes"]):
            yield feature.name, dry["comment"]


async def _collected(applied, sample, world):
    return [each async for each in loud(applied, sample, world)]


@pytest.mark.feature("F112")
def test_some_features(applied):
    assert asyncio.run(_collected(applied, [*FEATURES[::8], *OF_THE_TREE], "file")) == []


@pytest.mark.slow
@pytest.mark.parametrize("world", ["file", "missing"])
def test_every_feature(applied, world):
    assert asyncio.run(_collected(applied, FEATURES, world)) == []
