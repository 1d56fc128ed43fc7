"""apply --explain and explain --events: what a recorded run waited for, from the command line."""

from __future__ import annotations

import json
import os
import re

import pytest

TREE = (
    "first:\n  test.succeed_with_changes: []\nsecond:\n  test.nop:\n    - require:\n      - test: first\n"
    "third:\n  test.nop:\n    - onchanges:\n      - test: second\n"
)


@pytest.fixture
def run(tmp_path, run_here):
    (tmp_path / "a.sls").write_text(TREE)
    return lambda *words: run_here(*words, "--file-root", tmp_path)


@pytest.fixture
def recording(run, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(run("apply", "a", "--out", "jsonl").stdout)
    return path


def untimed(text):
    return re.sub(r"\d+ ms|[\d.]+ s\b", "T", text)


@pytest.mark.feature("F161")
def test_a_recording_tells_what_a_state_waited_for(run, recording):
    done = run("explain", "third", "a", "--events", recording)
    assert (done.returncode, done.stderr) == (0, "")
    told = untimed(done.stdout).split("In the recorded run\n")[1].splitlines()
    assert told[0].startswith("    Waited T, last for test.nop: second (onchanges)")
    assert told[1:] == [
        "    It did not run: no state that its onchanges names had changes.",
        "    - test.nop: second ended at T (onchanges) — the last, which released it",
    ]
    (facts,) = json.loads(run("explain", "third", "a", "--events", recording, "--out", "json").stdout)
    assert (facts["run"]["verdict"], facts["run"]["because"]) == ("onchanges", ["onchanges"])
    assert facts["run"]["started"] >= facts["run"]["ready"] > 0


def test_a_state_that_was_held_back_is_told_with_the_requisite_that_failed(run, tmp_path):
    text = "bad:\n  test.fail_without_changes: []\ngood:\n  test.nop:\n    - require: [{test: bad}]\n"
    (tmp_path / "a.sls").write_text(text)
    (tmp_path / "run.jsonl").write_text(run("apply", "a", "--out", "jsonl").stdout)
    told = run("explain", "good", "a", "--events", tmp_path / "run.jsonl").stdout
    assert "    It was held back: it requires test: bad, which failed.\n" in told
    (facts,) = json.loads(run("explain", "good", "a", "--events", tmp_path / "run.jsonl", "--out", "json").stdout)
    assert facts["run"]["unmet"] == "requires test: bad, which failed"


def test_another_tree_is_noticed(run, recording, tmp_path):
    (tmp_path / "a.sls").write_text(TREE.replace("second:", "fourth:\n  test.nop: []\nsecond:"))
    done = run("explain", "fourth", "a", "--events", recording)
    assert done.returncode == 0
    assert "was recorded with another tree" in done.stderr
    assert done.stdout.endswith("In the recorded run\n    It was not started.\n")


def test_what_is_no_recording_is_a_wrong_usage(run, tmp_path):
    done = run("explain", "third", "a", "--events", tmp_path / "a.sls")
    assert done.returncode == 1
    assert "a.sls: line 1 is not an event of a run" in done.stderr
    assert run("explain", "third", "a", "--events", tmp_path / "none").returncode == 1


@pytest.mark.feature("F161")
def test_a_run_explains_itself(run):
    done = run("apply", "a", "-j", 1, "--explain")
    assert "Summary for local" in done.stdout
    told = [re.sub(r", waited \S+ \S+ for a slot", "", line) for line in done.stdout.splitlines()]
    told = [untimed(line) for line in told[told.index("Why each state ran when it did") :]]
    assert told == [
        "Why each state ran when it did",
        "  test.succeed_with_changes: first",
        "      Waited for nothing, ran T.",
        "  test.nop: second",
        "      Waited T, last for test.succeed_with_changes: first (require), ran T.",
        "  test.nop: third",
        "      Waited T, last for test.nop: second (onchanges).",
        "      It did not run: no state that its onchanges names had changes.",
    ]


def test_where_the_answer_is_data_the_explanation_goes_to_standard_error(run):
    done = run("apply", "a", "--explain", "--out", "json")
    assert len(json.loads(done.stdout)) == 3
    assert "Why each state ran when it did" in done.stderr


def test_a_highstate_without_a_top_file_says_so(run):
    done = run("explain", "third")
    assert done.returncode == 1
    assert "there is no top.sls in" in done.stdout


def test_events_from_a_file_without_an_end_are_an_error(run, tmp_path):
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("/dev/zero", "a character device"),
        (tmp_path / "sparse", "line 1"),
        (tmp_path / "pipe", "a pipe"),
    ):
        done = run("explain", "third", "a", "--events", name)
        assert done.returncode == 1
        assert why in done.stderr
