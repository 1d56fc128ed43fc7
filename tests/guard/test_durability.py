"""New files are on the disk when a run is over: each one of few, the whole file system of many."""

from __future__ import annotations

import json
import os

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.filesystem.replacement import UNSYNCED
from asyncstate.guard import durability


@pytest.fixture
def synced(monkeypatch):
    """What was synced: paths, and ``file system``."""
    done = []
    real = os.fsync

    def fsync(descriptor):
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(durability, "_sync_file_system", lambda descriptor: done.append("file system") or True)
    return done


async def apply(tmp_path, states, **options):
    (tmp_path / "srv").mkdir(exist_ok=True)
    (tmp_path / "srv/t.sls").write_text("#!json\n" + json.dumps(states))
    settings = Settings(file_roots={"base": [str(tmp_path / "srv")]}, cachedir=str(tmp_path / "cache"))
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["t"], **options)
        assert UNSYNCED not in runtime.host.shared
        return report


def files(tmp_path, count):
    return {
        f"f{index}": {"file.managed": [{"name": f"{tmp_path}/f{index}"}, {"contents": "x"}]} for index in range(count)
    }


@pytest.mark.feature("F197")
async def test_a_few_new_files_are_synced_one_by_one(tmp_path, synced):
    assert (await apply(tmp_path, files(tmp_path, 3))).ok
    assert sorted(synced) == [f"{tmp_path}/f{index}" for index in range(3)]


@pytest.mark.feature("F197")
async def test_of_many_the_file_system_is_synced_once(tmp_path, synced):
    assert (await apply(tmp_path, files(tmp_path, durability.FEW + 1))).ok
    assert synced == ["file system"]


async def test_a_file_that_was_replaced_is_synced_before_it_has_its_name(tmp_path, synced):
    (tmp_path / "f0").write_text("old")
    assert (await apply(tmp_path, files(tmp_path, 1))).ok
    [path] = synced
    assert os.path.basename(path).startswith(".f0.")


async def test_nothing_is_synced_where_nothing_was_written(tmp_path, synced):
    await apply(tmp_path, files(tmp_path, 3), test=True)
    assert synced == []


async def test_a_file_that_is_gone_again_is_no_trouble(tmp_path, synced):
    states = {
        **files(tmp_path, 1),
        "gone": {"file.absent": [{"name": f"{tmp_path}/f0"}, {"require": [{"file": "f0"}]}]},
    }
    assert (await apply(tmp_path, states)).ok
    assert synced == []


def test_the_kernel_is_asked(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        assert durability._sync_file_system(descriptor) is True
    finally:
        os.close(descriptor)
    assert durability._sync_file_system(descriptor) is False
