"""Events of the states of a run, for tests of its display."""

from __future__ import annotations

from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


def ran(observer, host, name, times, after=""):
    """Tell that a state was ready, and started, and ended at these times of its host."""
    ready, ended = times
    common = {"run_id": host, "seq": 0, "tag": tag(name)}
    row = {"result": True, "changes": {}, "comment": "", "name": name}
    observer.event(host, ChunkReady(time=ready, after=after, because=("require",), **common))
    observer.event(host, ChunkStarted(time=ready, function="test.nop", id=name, name=name, sls="s", **common))
    observer.event(host, ChunkFinished(time=ended, row=row, why="met", **common))


def elsewhere(host, name):
    return f"{host}: {tag(name)}"
