"""Events of an imaginary run, and the spans that an export has of it."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from asyncstate.extras.traces.export import Export
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted

WALL = 1_700_000_000.0


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


class Script:
    """Events of an imaginary run, of which ``told`` is told at once."""

    def __init__(self, told):
        self._told, self._seq = told, 0

    def add(self, kind, at, **fields):
        self._told(kind(run_id="r", seq=self._seq, time=at, **fields))
        self._seq += 1

    def begin(self, **fields):
        counts = {"wall": WALL, "digest": "d", "chunks": 2, "concurrency": 4, "test": False}
        self.add(RunStarted, 0.0, **{**counts, **fields})

    def start(self, name, at, **fields):
        self.add(ChunkStarted, at, tag=tag(name), function="test.nop", id=name, name=name, sls="s", **fields)

    def finish(self, name, at, result=True, **row):
        row = {"name": name, "result": result, "changes": {}, "comment": "", **row}
        self.add(ChunkFinished, at, tag=tag(name), row=row, why="met")

    def end(self, at, exit_code=0, **fields):
        self.add(RunFinished, at, exit_code=exit_code, succeeded=1, changed=0, failed=1, **fields)


@pytest.fixture
def spans(monkeypatch):
    """What was exported, by name, once the export is closed."""
    for name in ("TRACEPARENT", "TRACESTATE"):
        monkeypatch.delenv(name, raising=False)
    exporter = InMemorySpanExporter()
    export = Export(exporter)

    def closed():
        assert export.close() == ""
        return {span.name: span for span in exporter.get_finished_spans()}

    closed.tracer = export.tracer
    return closed
