"""JSON lines and progress: what is made from events."""

from __future__ import annotations

import io
import re

import pytest
from plans import PlanBuilder
from tables import beside

from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    RunFinished,
    RunStarted,
    decode_event,
)
from asyncstate.report.jsonl import JsonLines
from asyncstate.report.progress import LiveProgress, PlainProgress, RunTally
from asyncstate.report.terminal import without_control

TABLES = beside(__file__)


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


class Script:
    """Events of an imaginary run, in order."""

    def __init__(self, concurrency=2, chunks=3):
        self.events = []
        self.add(RunStarted, 0.0, wall=0.0, digest="", chunks=chunks, concurrency=concurrency, test=False)

    def add(self, kind, at, **fields):
        self.events.append(kind(run_id="r", seq=len(self.events), time=at, **fields))
        return self

    def ready(self, name, at, after=""):
        return self.add(ChunkReady, at, tag=tag(name), after=tag(after) if after else "")

    def start(self, name, at, **fields):
        return self.add(ChunkStarted, at, tag=tag(name), function="test.nop", id=name, name=name, sls="s", **fields)

    def finish(self, name, at, result=True, changes=None, why="met", **fields):
        row = {"name": name, "result": result, "changes": changes or {}, "comment": "", "duration": 12.0}
        return self.add(ChunkFinished, at, tag=tag(name), row=row, why=why, **fields)

    def end(self, at):
        return self.add(RunFinished, at, exit_code=0, succeeded=1, changed=0, failed=0)

    def play(self, *listeners):
        for event in self.events:
            for listener in listeners:
                listener.on_event(event)


class Gone(io.BytesIO):
    """A pipe whose reader goes away after the first line."""

    def __init__(self, error):
        super().__init__()
        self.error = error
        self.lines = 0

    def write(self, data):
        self.lines += 1
        if self.lines > 1:
            raise self.error
        return super().write(data)


def test_json_lines_read_back():
    script = Script().start("a", 0.1).finish("a", 0.2).end(0.3)
    stream = io.BytesIO()
    script.play(JsonLines(stream))
    assert [decode_event(line) for line in stream.getvalue().splitlines()] == script.events


def test_json_lines_do_not_control_a_terminal():
    stream = io.BytesIO()
    stream.isatty = lambda: True
    script = Script()
    script.add(ChunkOutput, 0.1, tag=tag("a\x9b2J"), text="\u202eb\x85\x1b]0;t\x07").end(0.2)
    script.play(JsonLines(stream))
    shown = stream.getvalue().decode()
    assert shown == without_control(shown)
    assert r"a\x9b2J" in shown


@pytest.mark.parametrize(
    ("error", "message"), [(BrokenPipeError(), ""), (OSError(28, "No space left on device"), "No space left on device")]
)
def test_a_reader_that_goes_away_does_not_stop_the_run(error, message):
    stream = Gone(error)
    lines = JsonLines(stream)
    Script().start("a", 0.1).finish("a", 0.2).end(0.3).play(lines)
    assert stream.lines == 2
    assert lines.error == message


def test_plain_progress_is_a_line_for_each_state_that_did_something():
    stream = io.StringIO()
    script = Script(chunks=12).start("a", 0.1).finish("a", 0.2, changes={"x": 1})
    script.start("p", 0.2, check=True).finish("p", 0.2, check=True)
    script.add(ChunkRetried, 0.3, tag=tag("b"), attempt=1, result=False, comment="no", interval=2.0)
    script.add(ChunkOutput, 0.4, tag=tag("b"), text="still running", seconds=30.0)
    script.add(ChunkOutput, 0.4, tag=tag("b"), text="odd\x1b[0m")
    script.start("same", 0.5).finish("same", 0.5).finish("b", 0.5, result=False)
    held = {"name": "c", "result": False, "changes": {}, "comment": "", "duration": 0.0, "__state_ran__": False}
    script.add(ChunkFinished, 0.5, tag=tag("c"), row=held, why="fail").end(0.6)
    script.play(PlainProgress(stream))
    assert stream.getvalue().splitlines() == TABLES["plain progress has a line for a state that did something"]


def test_plain_progress_names_the_requisite_that_holds_a_state_back():
    stream, asked = io.StringIO(), []
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c", watch=["b"]).chunk("d").build()
    held = {"name": "n", "result": False, "changes": {}, "comment": "no reason\nat all", "__state_ran__": False}
    script = Script(chunks=4).start("a", 0.1).finish("a", 0.2, result=False)
    for name in "bcd":
        script.add(ChunkFinished, 0.5, tag=tag(name), row=held, why="fail")
    script.play(PlainProgress(stream, plan=lambda: asked.append(plan) or plan))
    assert stream.getvalue().splitlines()[1:] == [
        "[2/4] held back test.nop: b: requires test: a, which failed",
        "[3/4] held back test.nop: c: watches test: b, which was held back",
        "[4/4] held back test.nop: d: no reason …",
    ]
    assert len(asked) == 1


@pytest.mark.parametrize("usual", [True, False])
def test_a_listener_is_one_more_state(usual):
    stream = io.StringIO()
    plain = PlainProgress(stream)
    script = Script(chunks=1).start("a", 0.1).finish("a", 0.2, changes={"a": 1})
    script.start("listener_a", 0.3).finish("listener_a", 0.4, changes={} if usual else {"b": 1})
    script.play(plain)
    tally = RunTally(lambda: 0.0)
    totals = [tally.on_event(event) or tally.total for event in script.events]
    assert totals[1:] == [1, 1, 2, 2]
    assert stream.getvalue().splitlines()[1:] == [] if usual else ["[2/2] changed   test.nop: listener_a (1 ms)"]


def test_plain_progress_says_now_and_then_how_long_the_run_still_takes():
    stream, left, now = io.StringIO(), [""], [0.0]
    plain = PlainProgress(stream, lambda: left[0], clock=lambda: now[0])
    Script(chunks=2).start("a", 0.1).play(plain)
    for text, seconds in (
        ("early", 1),
        ("", 11),
        ("about 9 s left", 12),
        ("about 8 s left", 13),
        ("", 41),
        ("", 45),
        ("about 5 s left", 50),
    ):
        left[0], now[0] = text, float(seconds)
        plain.tick()
    Script(chunks=2).finish("a", 0.2).finish("b", 0.3).play(plain)
    now[0] = 99.0
    plain.tick()
    assert stream.getvalue().splitlines() == [
        "[0/2] ended     0 states",
        "[0/2] time      about 9 s left",
        "[0/2] ended     0 states",
        "[0/2] time      about 5 s left",
    ]


def test_live_progress_draws_nothing_for_a_quick_run():
    stream = io.StringIO()
    live = LiveProgress(stream)
    Script().start("a", 0.1).play(live)
    live.tick()
    live.close()
    assert stream.getvalue() == ""


@pytest.mark.feature("F157")
def test_live_progress_names_what_runs(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("asyncstate.report.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    stream.isatty = lambda: True
    live = LiveProgress(stream)
    Script(chunks=20).start("slow", 0.0).finish("quick", 0.1, result=False).play(live)
    clock[0] += 75.0
    live.tick()
    for number in range(9):
        Script(chunks=20).start(f"more{number}", 0.2).play(live)
    live.tick()
    live.close()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "1/20 states, 1 failed, 1 running" in text
    assert "starting" not in text
    assert "1 min 15 s  test.nop: slow" in text
    assert "… and 2 more" in text


def test_live_progress_names_what_failed_and_what_changed_last(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("asyncstate.report.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setenv("TERM", "xterm")

    def picture(*scripts, left=""):
        stream = io.StringIO()
        stream.isatty = lambda: True
        live = LiveProgress(stream, lambda: left)
        for script in scripts:
            script.play(live)
        clock[0] += 1.0
        live.tick()
        live.close()
        return stream.getvalue()

    good = Script(chunks=8).finish("quiet", 0.1)
    for number in range(5):
        good.finish(f"new{number}", 0.1, changes={"a": 1})
    text = picture(good, left="2 s left")
    assert all(f"changed    test.nop: new{number}" in text for number in (2, 3, 4))
    assert "quiet" not in text
    assert "new1" not in text
    assert "2 s left" in text
    assert "\x1b[32m━" in text, "the bar is green as long as all is well"
    bad = picture(Script(chunks=1).finish("bad", 0.1, result=False), left="2 s left")
    assert "failed     test.nop: bad" in bad
    assert "\x1b[31m━" in bad
    assert "left" not in bad, "all states have ended"


def test_live_progress_is_one_line_on_a_narrow_terminal_and_counts_what_was_held_back(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("asyncstate.report.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    stream.isatty = lambda: True
    live = LiveProgress(stream)
    clock[0] += 1.0
    live.tick()
    held = {"name": "c", "result": False, "changes": {}, "comment": "", "duration": 0.0, "__state_ran__": False}
    script = Script(chunks=20).start("slow", 0.0).finish("bad", 0.1, result=False)
    script.add(ChunkFinished, 0.5, tag=tag("c"), row=held, why="fail").play(live)
    clock[0] += 1.0
    live.tick()
    live.close()
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").splitlines()
    assert any(re.fullmatch(r"\W* starting +1\.0 s", line) for line in lines), lines
    assert any(re.search(r"2/20 states, 1 failed, 1 held back, 1 running +1\.0 s", line) for line in lines), lines
