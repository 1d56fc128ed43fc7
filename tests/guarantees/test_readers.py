"""A run depends on no reader of its output, neither a slow one nor one that never reads."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cut_site import FIRST, Site

PROGRAM = Path(sys.executable).with_name("asyncstate")
COUNT = 60
MANY = "".join(
    f"s{number}:\n  test.succeed_with_changes:\n    - name: {'x' * 400}{number}\n" for number in range(COUNT)
)


@pytest.fixture
def site(tmp_path):
    with Site(tmp_path, 1) as site:
        yield site


@pytest.fixture
def pipes():
    """Make pipes that hold little: the end to read, and the end to write."""
    with contextlib.ExitStack() as stack:

        def make(*, blocks):
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
            os.set_blocking(writing, blocks)
            return reading, writing

        yield make


def everything(reading):
    found = b""
    while data := os.read(reading, 1 << 16):
        found += data
    return found.decode()


FORMS = {
    "jsonl": ("--out", "jsonl"),
    "human": ("--progress", "plain"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_run_ends_though_nobody_reads_and_a_signal_ends_its_output(site, pipes, form):
    """The lock is free and the journal complete while the report still waits for its reader."""
    site.write(FIRST, MANY, anew=True)
    (_, out_theirs), (_, errors_theirs) = pipes(blocks=True), pipes(blocks=True)
    command = [PROGRAM, "apply", "all", "--file-root", site.salt, *FORMS[form]]
    process = site.start(command, stdout=out_theirs, stderr=errors_theirs)
    os.close(out_theirs)
    os.close(errors_theirs)
    site.hear(process, "first")
    site.until(lambda: site.journaled() == ["finished"] and site.is_free())
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    assert site.left() == []


@pytest.mark.parametrize("form", FORMS)
def test_output_to_a_pipe_that_does_not_block_is_whole(site, pipes, form):
    """As the terminal or the pipe is that another program has made so, which shares it."""
    site.write(MANY, anew=True)
    (out, out_theirs), (errors, errors_theirs) = pipes(blocks=False), pipes(blocks=False)
    command = [PROGRAM, "apply", "all", "--file-root", site.salt, "--progress", "plain"]
    process = site.start([*command, "--out", form], stdout=out_theirs, stderr=errors_theirs)
    os.close(out_theirs)
    os.close(errors_theirs)
    with ThreadPoolExecutor(2) as readers:
        said, progress = readers.map(everything, (out, errors))
    assert process.wait(60) == 0, progress
    if form == "jsonl":
        assert [json.loads(line)["seq"] for line in said.splitlines()] == list(range(len(said.splitlines())))
        assert said.count('"chunk_finished"') == COUNT
    else:
        assert f"Succeeded: {COUNT} (changed={COUNT})" in said
        assert said.count("Result: True") == COUNT
    assert progress.count("test.succeed_with_changes: ") == COUNT


def test_a_report_for_which_the_disk_has_no_room_is_said_and_leaves_nothing(site, tmp_path):
    """Here files may not grow beyond some bytes, which a journal that is off does not need."""
    site.write(MANY, anew=True)
    site.environ["ASYNCSTATE_JOURNAL"] = "off"
    reports = tmp_path / "reports"
    reports.mkdir()
    command = [PROGRAM, "apply", "all", "--file-root", site.salt]
    for option, name in {"--junit": "junit.xml", "--log-file": "log"}.items():
        command += [option, reports / name]
    process = site.start(
        [*command, "--log-level", "quiet"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 74, (out, errors)
    assert f"Succeeded: {COUNT}" in out
    assert f"{reports / 'junit.xml'} could not be written: File too large" in errors
    assert {path.name for path in reports.iterdir()} <= {"log"}
    assert site.left() == []


BREAKS = """
from asyncstate.run.machine import Machine

def machine(name):
    def done(*_):
        raise KeyError(name)
    Machine.done = done
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


def test_the_events_of_a_run_that_a_fault_ended_reach_a_slow_reader(site, pipes):
    site.write(FIRST, MANY, "fault:\n  breaks.machine:\n    - order: last\n", anew=True)
    (Path(site.salt) / "_states").mkdir(exist_ok=True)
    (Path(site.salt) / "_states" / "breaks.py").write_text(BREAKS)
    out, theirs = pipes(blocks=True)
    process = site.start([PROGRAM, "apply", "all", "--file-root", site.salt, "--out", "jsonl"], stdout=theirs)
    os.close(theirs)
    site.hear(process, "first")
    site.until(site.is_free)
    lines = everything(out).splitlines()
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 70, errors
    assert "internal error: KeyError: 'fault'" in errors
    assert '"run_finished"' in lines[-1]
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
