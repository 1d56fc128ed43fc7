"""``asyncstate runs``: the runs in the journal, listed, shown, compared and forgotten."""

from __future__ import annotations

import json
import re

import pytest
from messages import said as said_of
from tables import beside

from asyncstate.cli import main

TABLES = beside(__file__)

TREE = TABLES["tree"]


@pytest.fixture
def machine(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    return Machine(tmp_path, capsys)


class Machine:
    """A machine with a tree, a journal and a command line."""

    def __init__(self, path, capsys):
        self.path, self.capsys = path, capsys
        self.tree = path / "tree"
        self.tree.mkdir()
        self.config = path / "config"
        self.config.write_text(
            f"state_dir: {path}/state\ncachedir: {path}/cache\nfile_roots: {{base: [{self.tree}]}}\n"
            f"pillar_roots: {{base: [{self.tree}]}}\njournal: true\nprefetch: false\nid: h\n"
        )

    def sls(self, text, name="web"):
        (self.tree / f"{name}.sls").write_text(text)

    def call(self, *words, code=0):
        """Run a command; return standard output."""
        assert main([words[0], *words[1:], "--config", str(self.config)]) == code, self.capsys.readouterr()
        self.said = self.capsys.readouterr()
        return self.said.out

    def apply(self, *words, text=TREE, code=2):
        """Apply a tree; return the ID of the run."""
        if text:
            self.sls(text)
        self.call("apply", "web", *words, code=code)
        return json.loads(self.call("runs", "list", "-n", "1", "--out", "json"))[0]["id"]


@pytest.mark.feature("F221", "F223")
def test_the_list_has_the_newest_run_first_and_how_each_ended(machine):
    first = machine.apply()
    second = machine.apply("--test", text="a:\n  test.nop: []\n", code=0)
    heading, *lines = machine.call("runs", "list").splitlines()
    assert re.split("  +", heading)[-5:] == ["States", "Changed", "Failed", "Held back", "How it ended"]
    assert [line.split()[0] for line in lines] == [second, first]
    assert lines[0].endswith("finished, dry run")
    assert lines[1].endswith("finished, 1 state failed, 1 held back")
    row = rf"{first}  \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d +\S+ \S+ +4 +1 +1 +1  finished, 1 state failed, 1 held back"
    assert re.fullmatch(row, lines[1])
    (only,) = machine.call("runs", "list", "-n", "1").splitlines()[1:]
    assert only.split() == lines[0].split()


@pytest.mark.feature("F221", "F223")
def test_show_has_the_options_the_states_and_the_summary(machine):
    run = machine.apply("-j", "3")
    text = machine.call("runs", "show", run[:5])
    assert f"Run:       {run}" in text
    assert "Exit code: 2" in text
    assert "At once:   3 states" in text
    assert "Options:   command apply, sls web" in text
    assert re.search(r"^changed +\S+ ms  test.succeed_with_changes +first +testing Unchanged → ", text, re.MULTILINE)
    assert re.search(r"^held back +test.nop +third +requires test: second, which failed$", text, re.MULTILINE)
    assert re.search(r"^4 states in .*: 1 failed, 1 held back, 1 changed, 1 as wanted$", text, re.MULTILINE)
    data = json.loads(machine.call("runs", "show", "--out", "json"))
    assert (data["id"], data["counts"]["failed"], data["counts"]["held_back"], data["exit_code"]) == (run, 1, 1, 2)
    assert [row["__run_num__"] for row in data["rows"].values()] == [0, 1, 2, 3]
    assert json.loads(machine.call("replay", "--out", "json", code=2)) == data["rows"]


@pytest.mark.parametrize("words", [["runs", "show"], ["replay"]])
def test_a_run_that_does_not_exist_is_named_with_the_nearest(machine, words):
    run = machine.apply()
    wrong = run[:-1] + ("0" if run[-1] != "0" else "1")
    machine.call(*words, wrong, code=1)
    assert f"has no run '{wrong}'. Did you mean '{run}'?" in machine.said.err


@pytest.mark.parametrize("words", [["runs", "show"], ["replay"], ["apply", "--resume"]])
@pytest.mark.parametrize("wrong", ["zzz", "lastest", "0000"])
def test_what_is_like_no_run_is_answered_with_the_last_one(machine, words, wrong):
    run = machine.apply()
    machine.call(*words, wrong, code=1)
    said = said_of("run-unknown", name=wrong, last=run)
    assert said in machine.said.err or run.startswith(wrong)


@pytest.mark.feature("F223")
def test_prune_says_what_it_would_do_and_does_that(machine):
    runs = [machine.apply() for _ in range(4)]
    text = machine.call("runs", "prune", "--keep-runs", "2", "--dry-run")
    assert [line.split()[0] for line in text.splitlines()[1:3]] == [runs[1], runs[0]]
    assert text.endswith("2 runs would be forgotten, 2 kept.\n")
    assert len(json.loads(machine.call("runs", "list", "--out", "json"))) == 4
    done = json.loads(machine.call("runs", "prune", "--keep-runs", "2", "--out", "json"))
    assert done == {"dry_run": False, "forgotten": [runs[1], runs[0]], "kept": 2}
    assert [run["id"] for run in json.loads(machine.call("runs", "list", "--out", "json"))] == [runs[3], runs[2]]
    assert machine.call("runs", "prune", "--keep-days", "0").endswith("1 run forgotten, 1 kept.\n")
    assert machine.call("runs", "prune").endswith("0 runs forgotten, 1 kept.\n")


@pytest.mark.parametrize("words", [(), ("--test",)], ids=["run", "dry run"])
def test_the_list_counts_what_the_report_counts(machine, words):
    tree = "a: {cmd.run: [{name: 'true'}]}\nb: {test.succeed_with_changes: []}\nc: {test.nop: []}\n"
    machine.apply(*words, text=tree, code=0)
    said = machine.call("replay")
    (entry,) = json.loads(machine.call("runs", "list", "--out", "json"))
    found = re.search(r"(?:would change|[( ]changed)=(\d+)", said)
    assert entry["counts"]["changed"] == int(found[1]) == (1 if words else 2)
    listed = machine.call("runs", "list").splitlines()[1]
    if words:
        foretold = re.search(r"Dry run: (.+);", said)
        assert listed.endswith(f"dry run: {foretold[1]}")
    else:
        assert re.search(rf" {found[1]} ", listed)


def test_the_list_counts_listeners_as_the_report_does(machine):
    tree = "a: {test.succeed_with_changes: []}\nb: {test.nop: [{listen: [a]}]}\n"
    machine.apply(text=tree, code=0)
    assert "Total states run:     3" in machine.call("replay")
    assert machine.call("runs", "list").splitlines()[1].split()[5:7] == ["3", "2"]


def _spoil(machine, old, new):
    """Change the events of the one run."""
    (path,) = (machine.path / "state/journal").glob("*.ended")
    lines = path.read_bytes()
    assert old in lines
    path.write_bytes(lines.replace(old, new, 1))


@pytest.mark.parametrize(
    "words",
    [("replay",), ("replay", "--out", "json"), ("runs", "show"), ("apply", "--only-failed")],
    ids=" ".join,
)
def test_a_row_that_is_damaged_is_an_error_that_names_run_and_line(machine, words):
    run = machine.apply()
    _spoil(machine, b'"result":false,', b"")
    machine.call(*words, code=1)
    wrong = rf"the journal of run {run} is damaged, line \d+: the row of test_\|-\S+: it has no `result`"
    assert re.search(wrong, machine.said.err + machine.said.out)
    assert machine.call("runs", "list").count("\n") >= 2


@pytest.mark.parametrize("content", [b"", b"rubbish" * 400])
def test_a_damaged_run_is_listed_and_no_older_one_is_taken_for_it(machine, content):
    old = machine.apply()
    run = machine.apply()
    (machine.path / "state" / "journal" / f"{run}.ended").write_bytes(content)
    assert re.search(rf"{run} .*damaged: line 1", machine.call("runs", "list"))
    wrong = f"the journal of run {run} is damaged, line 1, so its results are unknown"
    for words in (("runs", "show"), ("replay",), ("apply", "--only-failed"), ("apply", "web", "--resume")):
        machine.call(*words, code=1)
        assert wrong in machine.said.err + machine.said.out
        machine.call("runs", "show", old)
    for words, says in (("--dry-run",), "would be forgotten"), ((), "forgotten"):
        assert f"1 run {says}, 1 kept" in machine.call("runs", "prune", *words)
    assert machine.call("runs", "list").count("\n") == 2
    machine.call("runs", "show", old)
