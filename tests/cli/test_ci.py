"""The interface for cron and CI servers: silence, exit codes, annotations, metrics."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tables import beside

from asyncstate.cli import main
from asyncstate.guard.lock import RunLock

TABLES = beside(__file__)

TREE = TABLES["tree"]


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command on the tree; returns exit code, standard output and standard error."""
    root = tmp_path / "tree"
    root.mkdir()
    for name, text in TREE.items():
        (root / name).write_text(text)
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def call(*words):
        code = main([*map(str, words), "--file-root", str(root)])
        return (code, *capfd.readouterr())

    return call


def values(path):
    return dict(line.rsplit(" ", 1) for line in path.read_text().splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("words", [["same"], ["same", "--test"], ["same", "--mock"], ["odd"], ["-q", "same"]])
def test_quiet_ok_says_nothing_where_nothing_happened(run, words):
    assert run("apply", *words, "--quiet-ok") == (0, "", "")


def test_quiet_ok_says_all_of_a_change_a_failure_and_what_was_held_back(run):
    _, loud, _ = run("apply", "new", "--progress", "none")
    code, text, errors = run("apply", "new", "-q")
    assert (code, errors) == (0, "")
    assert text.splitlines()[1:4] == loud.splitlines()[1:4]
    assert run("apply", "new", "--test", "-q")[1] != ""
    assert "broke" in run("apply", "bad", "-q")[1]
    assert "Result: False" in run("apply", "saved", "-q")[1]
    code, text, errors = run("apply", "odd", "new", "-q")
    assert "Name: succeed" in text or "b" in text
    assert "warning:" in errors


def test_quiet_ok_says_what_kept_a_run_from_beginning(run, tmp_path):
    code, text, _ = run("apply", "broken", "-q")
    assert code == 1
    assert "missing" in text
    with RunLock(str(tmp_path)):
        code, _, errors = run("apply", "same", "-q")
    assert code == 75
    assert str(os.getpid()) in errors


def test_quiet_ok_keeps_no_data_back(run):
    code, text, errors = run("apply", "same", "-q", "--out", "json")
    assert (code, errors) == (0, "")
    assert '"result": true' in text


@pytest.mark.parametrize(
    ("words", "code"),
    [(["same"], 0), (["new"], 3), (["new", "--test"], 3), (["same", "--test"], 0), (["bad"], 2), (["broken"], 1)],
)
def test_a_detailed_exit_code_tells_changes(run, words, code):
    assert run("apply", *words, "--detailed-exitcode", "-q")[0] == code


def test_a_replay_tells_changes_as_well(run, monkeypatch):
    monkeypatch.setenv("ASYNCSTATE_JOURNAL", "on")
    run("apply", "new")
    assert main(["replay"]) == 0
    assert main(["replay", "--detailed-exitcode"]) == 3


def test_an_answer_that_is_lost_counts_more_than_a_change(run, tmp_path):
    code, _, errors = run("apply", "new", "--detailed-exitcode", "--metrics", tmp_path / "m", "--junit", "/dev/full")
    assert code == 74
    assert "/dev/full" in errors
    assert values(tmp_path / "m")["asyncstate_exit_code"] == "74"


def test_without_a_terminal_progress_is_a_line_a_state_unless_the_answer_is_data(run):
    assert run("apply", "new")[2].startswith("[1/1] changed   test.succeed_with_changes: b (")
    assert run("apply", "new", "--out", "json")[2] == ""
    assert run("apply", "new", "--progress", "none")[2] == ""


def test_github_gets_annotations_and_no_commands_of_states(run, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    code, text, _ = run("apply", "bad", "--out", "github")
    lines = text.splitlines()
    assert code == 2
    stopped = lines[0].removeprefix("::stop-commands::")
    assert "::add-mask::x" in text[: text.index(f"\n::{stopped}::")]
    (error,) = lines[lines.index(f"::{stopped}::") + 1 :]
    assert error.startswith("::error file=tree/bad.sls,line=2,title=cmd.run%3A c")
    code, text, _ = run("apply", "broken", "--out", "github")
    assert code == 1
    assert "::error file=tree/broken.sls," in text


def test_check_annotates_too(run):
    code, text, _ = run("check", "broken", "--out", "github")
    assert code == 1
    assert "::error file=" in text
    code, text, _ = run("check", "odd", "--out", "github")
    assert code == 0
    assert text.startswith("::warning file=")


def test_metrics_say_how_a_run_ended_also_one_that_did_not_begin(run, tmp_path):
    file = tmp_path / "asyncstate.prom"
    assert run("apply", "bad", "--metrics", file)[0] == 2
    assert file.stat().st_mode & 0o777 == 0o644
    numbers = values(file)
    assert numbers["asyncstate_exit_code"] == "2"
    assert numbers['asyncstate_states{outcome="held_back"}'] == "1"
    assert run("apply", "broken", "--metrics", file)[0] == 1
    assert values(file)["asyncstate_exit_code"] == "1"
    with RunLock(str(tmp_path)):
        assert run("apply", "same", "--metrics", file)[0] == 75
    assert values(file)["asyncstate_exit_code"] == "75"
    assert run("single", "test.succeed_with_changes", "x", "--detailed-exitcode", "--metrics", file)[0] == 3
    assert (values(file)["asyncstate_exit_code"], values(file)["asyncstate_success"]) == ("3", "1")
    assert list(tmp_path.glob("*asyncstate.prom*")) == [file]


def test_junit_tells_what_failed_from_what_was_held_back(run, tmp_path):
    file = tmp_path / "junit.xml"
    run("apply", "bad", "--junit", file)
    suite = ET.parse(file).getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    broke, held = suite
    assert (broke.get("file"), broke.get("line")) == (str(tmp_path / "tree/bad.sls"), "2")
    assert "retcode: 4" in broke.find("failure").text
    assert broke.find("system-err").text == "broke"
    assert held.find("skipped") is not None


def test_junit_tells_why_there_was_no_run(run, tmp_path):
    file = tmp_path / "junit.xml"
    file.write_text("of an earlier run")
    (tmp_path / "tree/wrong.sls").write_text("a:\n  test.nop: [{require: [{test: nothing}]}]\nb: text\n")
    assert run("apply", "wrong", "--junit", file)[0] == 1
    suite = ET.parse(file).getroot()[0]
    assert (suite.get("errors"), suite.get("failures"), len(suite)) == ("1", "0", 1)
    assert (suite[0].get("file"), suite[0].get("line")) == (str(tmp_path / "tree/wrong.sls"), "3")
    assert suite[0].find("error").get("message") == "ID b in SLS wrong is not a dictionary"
    with RunLock(str(tmp_path)):
        assert run("apply", "same", "--junit", file, "-q")[0] == 75
    assert "another run holds" in ET.parse(file).getroot()[0][0].find("error").get("message")
    assert run("apply", "same", "--junit", file)[0] == 0
    assert ET.parse(file).getroot()[0].get("errors") == "0"


def test_the_grace_period_may_be_given_and_a_run_that_was_ended_has_metrics(run, run_cli, tmp_path):
    begun = tmp_path / "begun"
    program = Path(sys.executable).with_name("asyncstate")
    words = [program, "apply", "slow", "--file-root", tmp_path / "tree", "--pillar", f"begun: {begun}"]
    words += ["--grace", "0", "--metrics", tmp_path / "m.prom"]
    with subprocess.Popen(list(map(str, words)), env=run_cli.environ, stderr=subprocess.PIPE, text=True) as process:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=50)
    assert process.returncode == 143
    assert "What still runs in 0 s is cancelled." in errors
    assert values(tmp_path / "m.prom")["asyncstate_exit_code"] == "143"
