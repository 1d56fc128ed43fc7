"""The exit code tells the truth of a run, also where its report cannot be written, or the program itself is at fault."""

import json
import os
import subprocess

import pytest
from messages import said

CHANGES = "one:\n  test.succeed_with_changes: []\ntwo:\n  test.nop: []\n"
FORMS = ["human", "json", "jsonl", "yaml"]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    (root / "good.sls").write_text(CHANGES)
    (root / "bad.sls").write_text("breaks:\n  test.fail_without_changes: []\n")
    (root / "wrong.sls").write_text("a: [")
    return root


def in_shell(command, words, environ):
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *words],
        env=environ,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.fixture
def run(run_cli, tree):
    """Run the program on the tree with a standard output, or error, of one's own; return its code and its errors."""

    def call(*words, shell=""):
        command = f'exec asyncstate "$@" --file-root {tree} {shell}'
        return in_shell(command, words, run_cli.environ)

    return call


needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a kernel without /dev/full")


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a machine without /proc")


@needs_full
@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_behind_standard_output_is_said_and_has_a_code_of_its_own(run, form):
    done = run("apply", "good", "--out", form, shell="> /dev/full")
    assert done.returncode == 74
    assert done.stderr.splitlines()[-1].endswith("could not be written: No space left on device")


@pytest.mark.parametrize("form", FORMS)
def test_a_closed_standard_output_is_said(run, form):
    done = run("apply", "good", "--out", form, shell=">&-")
    assert done.returncode == 74
    assert done.stderr.endswith(f"asyncstate: {said('output-lost')}: it is closed\n")


@needs_full
@pytest.mark.parametrize(
    "words", [["apply", "--help"], ["apply", "--help-all"], ["show", "--help"], ["runs", "list", "-h"]]
)
def test_help_that_is_not_written_is_said(run_cli, words):
    def code(shell):
        return in_shell(f'exec asyncstate "$@" {shell}', words, run_cli.environ).returncode

    assert (code("> /dev/full"), code(">&-"), code("| true")) == (74, 74, 0)


@needs_full
def test_a_run_that_failed_keeps_its_code(run):
    assert run("apply", "bad", shell="> /dev/full").returncode == 2
    assert run("apply", "wrong", shell="> /dev/full").returncode == 1


@needs_full
@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
def test_what_only_hears_of_the_run_may_be_closed_or_full(run, shell):
    done = run("apply", "good", "--out", "json", shell=shell)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) == 2


@needs_full
@pytest.mark.parametrize("words", [("--version",), ("--help",), ("show", "lowstate", "good")])
@pytest.mark.parametrize("shell", [">&-", ">/dev/full"])
def test_any_answer(run_cli, run, words, shell, tree):
    if words[0] == "show":
        done = run(*words, shell=shell)
    else:
        done = in_shell(f'exec asyncstate "$@" {shell}', words, run_cli.environ)
    assert done.returncode == 74
    assert said("output-lost") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--metrics", "--junit"])
@needs_proc
def test_a_report_that_cannot_be_written_leaves_one_document_on_standard_output(run, option):
    done = run("apply", "good", "--out", "json", option, "/proc/report")
    assert done.returncode == 74
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr == "asyncstate: /proc/report could not be written: No such file or directory\n"


@needs_proc
def test_all_reports_are_tried(run, tmp_path):
    metrics = tmp_path / "metrics"
    done = run("apply", "bad", "--junit", "/proc/report", "--metrics", str(metrics))
    assert done.returncode == 2
    assert 'outcome="failed"} 1' in metrics.read_text()


@pytest.fixture
def called(tree, tmp_path, monkeypatch, capfd):
    """Run a command in this process: parts of it can be broken."""
    from asyncstate.cli import main

    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))

    def call(*words):
        code = main([*words, "--file-root", str(tree)])
        return code, *capfd.readouterr()

    return call


def broken(*_args, **_kwargs):
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_bug_in_a_run_has_a_code_of_its_own_and_says_what_was_applied(called, monkeypatch, form):
    monkeypatch.setattr("asyncstate.run.recorder.number_rows", broken)
    code, out, errors = called("apply", "good", "--out", form)
    assert (code, out) == (70, "")
    assert "asyncstate: internal error: ZeroDivisionError: a bug (" in errors
    assert "  2 states had ended, 1 with changes:\n    test.succeed_with_changes: one\n" in errors


def test_a_bug_in_an_output_does_not_hide_the_run(called, monkeypatch):
    monkeypatch.setattr("asyncstate.report.junit.junit_xml", broken)
    code, out, errors = called("apply", "good", "--out", "json", "--junit", "/nowhere")
    assert code == 70
    assert len(json.loads(out)) == 2
    assert "2 states had ended, 1 with changes" in errors


def test_an_error_of_the_machine_amid_a_run_is_not_taken_for_a_tree_that_does_not_compile(called, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device", "/var")

    monkeypatch.setattr("asyncstate.run.recorder.number_rows", full)
    code, _, errors = called("apply", "good")
    assert code == 70
    assert "2 states had ended" in errors
