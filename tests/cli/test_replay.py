"""``asyncstate replay``: the same output as the run's own, in every form."""

from __future__ import annotations

import json
import re

import pytest
from messages import said
from tables import beside

from tests.cli.test_runs import TREE, Machine

TABLES = beside(__file__)

VARIED = TABLES["varied"]


@pytest.fixture
def machine(tmp_path, capsys):
    return Machine(tmp_path, capsys)


@pytest.mark.feature("F224")
@pytest.mark.parametrize("tree", [TREE, VARIED, "{}"], ids=["plain", "varied", "empty"])
@pytest.mark.parametrize("form", ["human", "json", "jsonl", "yaml"])
@pytest.mark.parametrize("width", ["1", "4"])
def test_a_replay_gives_the_output_the_file_and_the_exit_code_of_the_run(machine, tree, form, width):
    machine.sls(tree)
    forms = ["--out", form, "--junit", f"{machine.path}/junit"]
    code = 0 if tree == "{}" else 2
    out = machine.call("apply", "web", "-j", width, "--progress", "none", *forms, code=code)
    file = (machine.path / "junit").read_bytes()
    err = machine.said.err
    assert machine.call("replay", *forms, code=code) == out
    assert machine.said.err == err
    assert (machine.path / "junit").read_bytes() == file


def test_metrics_that_nobody_asked_for_then_say_when_the_run_ended(machine):
    machine.sls(VARIED)
    metrics = machine.path / "metrics"
    machine.call("apply", "web", "--metrics", str(metrics), code=2)
    of_the_run = metrics.read_text()
    metrics.unlink()
    machine.call("replay", "--metrics", str(metrics), code=2)
    ended = json.loads(machine.call("runs", "show", "--out", "json"))["ended"]
    assert metrics.read_text() == re.sub(r"(?<=end_timestamp_seconds )\d+\.\d+", f"{ended:.3f}", of_the_run)


def test_a_progress_of_lines(machine):
    machine.apply()
    machine.call("replay", "--progress", "plain", code=2)
    assert {line.split("] ")[1].split("  ")[0].split(" test")[0] for line in machine.said.err.splitlines()} == {
        "changed",
        "failed",
        "held back",
    }


def test_a_run_that_was_killed_is_shown_as_far_as_it_came(machine, monkeypatch):
    from asyncstate.journal.keeper import Keeper

    monkeypatch.setattr(Keeper, "close", lambda self: self._log.close())
    machine.sls(TREE)
    machine.call("apply", "web", "-j", "1", "--progress", "none", code=2)
    (log,) = (machine.path / "state" / "journal").glob("*.log")
    lines = log.read_bytes().splitlines(keepends=True)
    third = [number for number, line in enumerate(lines) if line.startswith(b'["finished"')][2]
    log.write_bytes(b"".join(lines[:third]))
    text = machine.call("replay", code=125)
    assert "Cut short" in text
    assert "killed" in text
    assert "Not started: 1 state\n    test.nop: fourth" in text
    assert said("cut-off-state", state="test.nop: third") in machine.said.err
