"""The progress of a search: on a terminal in one line that is removed at the end, else in lines now and then."""

from __future__ import annotations

import io

from asyncstate.extras.proof.shake.progress import Progress
from asyncstate.extras.proof.shake.search import Batch

ORDERS = ((0, 1), (1, 0), (2,), (3,))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines(monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("asyncstate.extras.proof.shake.progress.time.monotonic", lambda: float(next(clock)))
    lines = []
    progress = Progress(lines.append, 2)
    progress.tick(0)
    progress.tick(0)
    assert lines == ["the first run: 12.0 s"]
    assert progress.ran_once() == 20.0
    progress.watch(Batch(ORDERS[:2], "serial", 4))
    assert lines[1:] == ["4 orders to try, about 40.0 s left"]
    progress.watch(Batch(ORDERS[:3], "delay", 1))
    progress.tick(1)
    progress.tick(1)
    progress.watch(Batch(ORDERS[:1], "narrow", 1))
    for _ in range(12):
        progress.tick(0)
    assert lines[2] == "1 of 4 orders tried, about 30.0 s left"
    assert lines[3] == ("3 of 4 orders tried, about 10.0 s left; there is a difference: looking for the two states")
    assert len(lines) == 6, "less often after the first minute"


def test_a_terminal_has_one_line(monkeypatch):
    monkeypatch.setattr("asyncstate.extras.proof.shake.progress._QUIET", 0)
    monkeypatch.setenv("TERM", "xterm")
    stream, lines = Terminal(), []
    progress = Progress(lines.append, 1, stream)
    progress.tick(0)
    progress.watch(Batch(ORDERS, "delay", 2))
    progress.tick(4)
    assert "the first run: " in stream.getvalue()
    progress.close()
    progress.close()
    assert lines == []
