"""The prefetch of a run: its folders, waiting for a transfer under way, and a clean end."""

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from messages import said

from asyncstate import prefetch
from asyncstate.dunders.context import CallContext, CancelToken, current
from asyncstate.errors import RunCancelled
from asyncstate.prefetch import Prefetched


@pytest.fixture
def ahead(tmp_path):
    return Prefetched(str(tmp_path / "cache"))


@pytest.fixture
def call(ahead):
    parts = {"opts": {}, "grains": {}, "pillar": {}, "context": {}, "salt": {}, "states": {}, "utils": {}}
    context = CallContext(**parts, cancel=CancelToken())
    context.prefetched = ahead
    token = current.set(context)
    yield context
    current.reset(token)


def test_outside_of_a_run_there_is_nothing_to_wait_for():
    assert prefetch.folder("files") == ""
    prefetch.wait("x")
    prefetch.announce("x")
    with prefetch.fetching("x"):
        prefetch.wait("x")


def test_a_folder_is_private_and_gone_with_the_run(call, ahead, tmp_path):
    folder = Path(prefetch.folder("files"))
    assert folder == Path(prefetch.folder("files")) != Path(prefetch.folder("git"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.parent == tmp_path / "cache"
    (folder / "x").mkdir()
    ahead.close()
    assert os.listdir(tmp_path / "cache") == []
    assert prefetch.folder("files") == ""


def test_a_folder_may_be_elsewhere_with_a_mode_of_its_own(call, tmp_path):
    folder = Path(prefetch.folder("apt", directory=str(tmp_path / "there"), mode=0o711))
    assert folder.parent == tmp_path / "there"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o711


def test_who_needs_something_waits_until_it_is_there(call):
    begun, go = threading.Event(), threading.Event()
    context, seen = current.get(), []

    def fetch():
        current.set(context)
        with prefetch.fetching("a", "b"):
            begun.set()
            go.wait()
            seen.append("fetched")

    thread = threading.Thread(target=fetch)
    thread.start()
    begun.wait()
    prefetch.wait("c")
    assert seen == []
    threading.Timer(0.02, go.set).start()
    prefetch.wait("a", "c")
    assert seen == ["fetched"]
    thread.join()


def test_nothing_is_fetched_twice_at_once(call):
    context, most, active = current.get(), [], []

    def fetch(_number):
        current.set(context)
        with prefetch.fetching("a"):
            active.append(1)
            most.append(len(active))
            time.sleep(0.01)
            active.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fetch, range(4)))
    assert most == [1] * 4


def test_a_cancelled_state_waits_no_longer(call, monkeypatch):
    monkeypatch.setattr(prefetch, "_LOOK_AROUND", 0.01)
    with prefetch.fetching("a"):
        threading.Timer(0.02, call.cancel.cancel, ("enough",)).start()
        with pytest.raises(RunCancelled, match="enough"):
            prefetch.wait("a")


def test_there_is_no_room_beyond_a_limit(call, ahead, tmp_path, monkeypatch):
    assert ahead.room() == ""
    monkeypatch.setattr(prefetch, "LIMIT", 1 << 20)
    Path(prefetch.folder("files"), "big").write_bytes(b"x" * (3 << 20))
    assert ahead.room() == said("prefetched", size=3)
    monkeypatch.setattr(prefetch, "LIMIT", 1 << 30)
    monkeypatch.setattr(prefetch, "ROOM", 1 << 62)
    assert "MiB are free below" in ahead.room()


def test_what_is_announced_is_told(tmp_path, call):
    told = []
    call.prefetched = Prefetched(str(tmp_path), told.append)
    prefetch.announce("lists")
    assert told == ["lists"]
