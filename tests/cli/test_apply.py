"""apply, check and single on a small tree: outputs, exit codes, signals."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from messages import said
from tables import beside

from asyncstate.model.event import ChunkFinished, RunFinished, RunStarted, decode_event

TABLES = beside(__file__)

TREE = TABLES["tree"]
FIRST = "test_|-first_|-first_|-nop"
SECOND = "test_|-second_|-second_|-succeed_with_changes"
ROW_KEYS = {"name", "result", "changes", "comment", "__id__", "__sls__", "__run_num__", "start_time", "duration"}


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    for name, text in TREE.items():
        (root / name).write_text(text)
    return root


@pytest.fixture
def run(tree, run_here):
    """Run a command on the tree, in this process."""
    return lambda *words: run_here(*words, "--file-root", tree)


def masked(text):
    """Replace what differs from run to run."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d+", "HH:MM:SS", text)
    return re.sub(r" +[\d.]+ (ms|s)\b.*", " T", re.sub(r"\([\d.]+ (ms|s)\b", "(T", text))


def test_a_process_of_its_own(tree, run_cli):
    done = run_cli("apply", "good", "--out", "json", "--file-root", tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(json.loads(done.stdout)) == [FIRST, SECOND]


@pytest.mark.feature("F154")
def test_human_output_is_rows_with_a_summary(run):
    done = run("apply", "good", "-j", 1)
    assert done.returncode == 0
    (second,) = done.stderr.splitlines()
    assert second.startswith("[2/2] changed   test.succeed_with_changes: second (")
    assert masked(done.stdout).splitlines() == TABLES["human output is rows with a summary"]


@pytest.mark.feature("F150")
def test_no_sls_is_the_highstate(run):
    assert list(json.loads(run("apply", "--out", "json").stdout)) == [FIRST, SECOND]


@pytest.mark.feature("F156", "F120")
def test_json_is_keyed_by_tag_with_the_keys_of_a_row(run):
    done = run("apply", "good", "--out", "json")
    rows = json.loads(done.stdout)
    assert list(rows) == [FIRST, SECOND]
    assert all(set(row) >= ROW_KEYS for row in rows.values())
    assert done.stderr == ""


def test_yaml_holds_the_same(run):
    from asyncstate.data.yaml import load_yaml

    rows = load_yaml(run("apply", "good", "--out", "yaml").stdout, "out")
    assert list(rows) == [FIRST, SECOND]
    assert rows[SECOND]["changes"]["testing"]["old"] == "Unchanged"


@pytest.mark.feature("F157")
def test_jsonl_is_the_events(run):
    events = [decode_event(line) for line in run("apply", "good", "--out", "jsonl").stdout.splitlines()]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [event.tag for event in events if isinstance(event, ChunkFinished)] == [FIRST, SECOND]


@pytest.mark.feature("F153")
def test_a_failed_state_exits_2_and_says_where_it_was_declared(run, tree):
    done = run("apply", "bad")
    assert done.returncode == 2
    assert f"Source: {tree}/bad.sls:2" in done.stdout
    assert said("requisite-failed", states="bad.breaks") in done.stdout
    brief = run("apply", "bad", "--state-output", "brief").stdout
    assert re.search("^held back .* requires test: breaks, which failed$", brief, re.MULTILINE)


@pytest.mark.feature("F153", "F156")
def test_compile_errors(run):
    done = run("apply", "broken", "--out", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    (message,) = json.loads(done.stdout)
    assert "missing" in message
    done = run("apply", "broken")
    assert done.returncode == 1
    assert done.stdout.startswith("    Data failed to compile:\n----------\n")
    assert "broken.sls:" in done.stdout
    assert run("apply", "nowhere", "--out", "json").returncode == 1


@pytest.mark.feature("F150", "F110")
@pytest.mark.parametrize("form", [("--test",), ("test=True",)])
def test_a_dry_run_changes_nothing(run, tmp_path, form):
    where = tmp_path / "touched"
    done = run("apply", "dry", f"pillar={{where: {where}}}", *form, "--out", "json")
    (row,) = json.loads(done.stdout).values()
    assert row["result"] is None
    assert done.returncode == 0
    assert not where.exists()


@pytest.mark.feature("F110")
def test_test_false_wins_over_the_configuration(run, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("test: true\n")
    for words, result in (((), None), (("--no-test",), True), (("test=False",), True)):
        rows = json.loads(run("apply", "good", "--config", config, *words, "--out", "json").stdout)
        assert rows[SECOND]["result"] is result


@pytest.mark.feature("F150", "F020")
@pytest.mark.parametrize("words", [("--pillar", '{"name": "x"}'), ("--pillar", "name: x"), ("pillar={'name': 'x'}",)])
def test_pillar_of_the_command_line(run, words):
    assert list(json.loads(run("apply", "pillared", *words, "--out", "json").stdout)) == ["test_|-x_|-x_|-nop"]


@pytest.mark.feature("F150", "F159", "F047")
def test_exclude_and_id(run):
    rows = json.loads(run("apply", "good,bad", "--saltenv", "base", "--exclude", "bad", "--out", "json").stdout)
    assert set(rows) == {FIRST, SECOND}
    rows = json.loads(run("apply", "bad", "--exclude", "id:held", "--out", "json").stdout)
    assert [row["__id__"] for row in rows.values()] == ["breaks"]
    rows = json.loads(run("apply", "good", "--id", "first", "--out", "json").stdout)
    assert set(rows) == {FIRST}


@pytest.mark.feature("F153", "F019")
def test_an_empty_tree_is_no_failure_but_a_warning(run):
    done = run("apply", "empty", "--out", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {})
    assert said("empty-tree") in done.stderr


@pytest.mark.feature("F155")
def test_state_output_comes_from_flag_or_configuration(run, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("state_output: terse\nstate_verbose: false\n")
    text = run("apply", "good", "--config", config).stdout
    assert "first" not in text
    assert "Name: second - Function: test.succeed_with_changes - Result: Changed" in text
    text = run("apply", "good", "--config", config, "--state-output", "changes", "--state-verbose").stdout
    assert "Name: first - Function: test.nop - Result: Clean" in text
    assert "          ID: second" in text


def test_junit(run, tmp_path):
    junit = tmp_path / "junit.xml"
    assert run("apply", "bad", "--junit", junit).returncode == 2
    assert ET.parse(junit).getroot()[0].get("failures") == "1"


@pytest.mark.feature("F157")
def test_plain_progress_goes_to_standard_error(run):
    done = run("apply", "good", "-j", 1, "--progress", "plain", "--out", "json")
    assert [masked(line) for line in done.stderr.splitlines()] == [
        "[2/2] changed   test.succeed_with_changes: second (T)",
    ]
    assert json.loads(done.stdout)


@pytest.mark.feature("F096", "F153")
def test_a_time_out_exits_124(run, tree):
    (tree / "slow.sls").write_text(TREE["slow.sls"].replace("sleep 30", "sleep 600"))
    for seconds in (0.5, 5, 45):  # until the state had begun before it was cut off
        done = run("apply", "slow", "--timeout", seconds, "--out", "json")
        assert done.returncode == 124
        if rows := json.loads(done.stdout):
            break
    (row,) = rows.values()
    assert row["result"] is False


GO = "while [ ! -e go ]; do sleep 0.05; done"


def until(condition):
    deadline = time.monotonic() + 50
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def start(tree, tmp_path):
    """Start an apply and wait until its first state runs, which ends when there is a file ``go``."""
    processes = []

    def begin(*words, loop="auto"):
        ready = tmp_path / "ready"
        command = f"touch {ready}; {GO}\n    - cwd: {tmp_path}"
        (tree / "slow.sls").write_text(TREE["slow.sls"].replace("sleep 30", command))
        environ = {**os.environ, "ASYNCSTATE_CACHEDIR": str(tmp_path), "ASYNCSTATE_STATE_DIR": str(tmp_path)}
        environ["ASYNCSTATE_EVENT_LOOP"] = loop
        program = Path(sys.executable).with_name("asyncstate")
        process = subprocess.Popen(
            [program, "apply", "slow", "--file-root", tree, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            start_new_session=True,
        )
        processes.append(process)
        until(lambda: ready.exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.feature("F133", "F153")
@pytest.mark.parametrize(("number", "code", "loop"), [(signal.SIGINT, 130, "asyncio"), (signal.SIGTERM, 143, "uvloop")])
def test_the_first_signal_lets_running_states_finish(start, number, code, loop, tmp_path):
    process = start("--out", "json", loop=loop)
    process.send_signal(number)
    assert f"{number.name}: starting nothing more" in process.stderr.readline()
    (tmp_path / "go").touch()
    out, _ = process.communicate()
    assert process.returncode == code
    (row,) = json.loads(out).values()
    assert (row["__id__"], row["result"]) == ("slow", True)


@pytest.mark.feature("F133")
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_the_second_signal_cancels_them(start, loop):
    process = start(loop=loop)
    process.send_signal(signal.SIGINT)
    assert "SIGINT: starting nothing more" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate()
    assert process.returncode == 130
    assert "SIGINT: cancelling what runs" in errors
    assert "Not started: 1 state" in out
    assert "test.nop: later" in out


def test_a_reader_that_goes_away_leaves_the_exit_code(tree, program, tmp_path):
    environ = {**os.environ, "ASYNCSTATE_CACHEDIR": str(tmp_path), "ASYNCSTATE_STATE_DIR": str(tmp_path)}
    command = [program, "apply", "bad", "--file-root", tree, "--out", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 2


def test_on_a_terminal_there_are_colours_and_a_live_display(tree, program, tmp_path):
    go = tmp_path / "go"
    (tree / "slow.sls").write_text(TREE["slow.sls"].replace("sleep 30", f"{GO}\n    - cwd: {tmp_path}"))
    environ = {
        **os.environ,
        "TERM": "xterm",
        "ASYNCSTATE_CACHEDIR": str(tmp_path),
        "ASYNCSTATE_STATE_DIR": str(tmp_path),
    }
    environ.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    command = [program, "apply", "slow", "--file-root", tree]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        screen = b""
        while select.select([ours], [], [], 50)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            screen += data
            if b"0/2 states, 1 running" in screen and b"cmd.run: slow" in screen:
                go.touch()
        os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[36mchanged  \x1b[0m" in screen, "the form on a terminal is brief"
    assert b"0/2 states, 1 running" in screen
    assert b"cmd.run: slow (while [" in screen


@pytest.mark.feature("F150")
def test_keywords_of_salts_command_line(run, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("state_output: terse\nstate_output_profile: false\n")
    done = run("apply", "good", f"localconfig={config}", "queue=True", "sync_mods=all", "mock=False")
    assert done.returncode == 0
    assert "  Name: first - Function: test.nop" in done.stdout
    assert "mocked" not in done.stdout


# check and single


def test_check_counts_what_compiles(run):
    done = run("check", "good")
    assert done.returncode == 0
    assert done.stdout.startswith("OK: 2 states in 1 SLS file, 0 warnings.\n")
    assert "1 requisite" in done.stdout
    facts = json.loads(run("check", "good", "--out", "json").stdout)
    assert (facts["ok"], facts["states"], facts["sls"], facts["warnings"]) == (True, 2, ["good"], [])


@pytest.mark.feature("F152")
def test_single(run, tmp_path):
    done = run("single", "test.configurable_test_state", "name=x", "changes=True", "result=False", "--out", "json")
    assert done.returncode == 2
    (tag,) = json.loads(done.stdout)
    assert tag == "test_|-x_|-x_|-configurable_test_state"
    done = run("single", "test.nop", "y", "--state-output", "terse")
    assert "Name: y - Function: test.nop - Result: Clean" in done.stdout
    done = run("single", "test.succeed_with_changes", "z", "test=True", "--out", "json")
    assert next(iter(json.loads(done.stdout).values()))["result"] is None


@pytest.mark.feature("F152")
def test_single_of_a_function_that_does_not_exist(run):
    done = run("single", "test.nopp", "x", "--out", "json")
    assert (done.returncode, json.loads(done.stdout)) == (1, ["Specified state 'test.nopp' was not found"])
    assert "Did you mean 'test.nop'?" in run("single", "test.nopp", "x").stdout
