"""apply --resume: which run, what it refuses, --force, and what is remembered of the selection."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from messages import said as said_of
from tables import beside

TABLES = beside(__file__)

SLOW = TABLES["slow"]


def kill_while(run_cli, program, tmp_path, text, *words):
    """Kill a run, and nothing else, once ``began`` is there; return the ID of its session."""
    (tmp_path / "web.sls").write_text(text.format(tmp_path))
    command = [str(program), "apply", "web", "--file-root", str(tmp_path), *words]
    child = subprocess.Popen(
        command, env=run_cli.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not (tmp_path / "began").exists():
        assert child.poll() is None
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()  # the program may be another process, a moment longer: its output ends when it is gone
    return child.pid


@pytest.fixture
def killed(run_cli, run_here, program, tmp_path):
    """Kill a run with its programs while one of its states runs; return what runs the command line after that."""
    kill_while(run_cli, program, tmp_path, SLOW, "-j1", "--pillar", '{"long": 600}')
    (pid,) = left_running(tmp_path)
    os.killpg(pid, signal.SIGKILL)
    return lambda *words: run_here("apply", "--file-root", tmp_path, "-j1", *words)


def left_running(tmp_path):
    """Return the leaders of the sessions that run a shell of the tree."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if str(tmp_path).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(os.getsid(int(pid)))
    return found - {os.getsid(0)}


def damage(tmp_path, old, new, kind="log"):
    """Replace a word in what the journal has of the run that was killed."""
    (log,) = tmp_path.rglob(f"journal/*.{kind}")
    data = log.read_bytes()
    assert data.count(old) == 1
    log.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("words", [["--resume"], ["--resume", "--force"]], ids=" ".join)
def test_a_damaged_plan_in_the_journal_is_said_and_nothing_begins(killed, tmp_path, words):
    damage(tmp_path, b'"chunks":[{"tag":', b'"chunks":[{"tag":1,"tag":', "plan")
    done = killed(*words, "--pillar", '{"long": 0}')
    assert done.returncode == 1, done.stderr
    assert re.search(r"the journal in .* is damaged: the plan of run \w+: .*\. " + said_of("plan-damaged"), done.stderr)
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("sls", ["1", "[1]", '[["web"]]', '{"web":1}'])
@pytest.mark.parametrize("words", [["--resume"], ["--only-failed"]], ids=" ".join)
def test_a_selection_in_the_journal_that_makes_no_sense_is_said(killed, tmp_path, words, sls):
    damage(tmp_path, b'"sls":["web"],"pillar"', b'"sls":%b,"pillar"' % sls.encode())
    done = killed(*words, "--pillar", '{"long": 0}')
    assert done.returncode == 1, done.stderr
    assert said_of("journal-without-a-selection") in done.stderr


def test_a_file_is_named_again(run_here, tmp_path):
    (tmp_path / "began").touch()
    (tmp_path / "one.sls").write_text("a: {cmd.run: [name: 'exit 3', failhard: true]}\nb: {test.nop: []}\n")
    words = ("apply", "--file-root", tmp_path, "-j1")
    assert run_here(*words, "--file", tmp_path / "one.sls").returncode == 2
    done = run_here(*words, "--resume")
    assert done.returncode == 1
    assert re.search(r"run \w+ " + said_of("file-again", path=r".*/one\.sls"), done.stderr)
    assert run_here(*words, "--resume", "--file", tmp_path / "one.sls").returncode == 2


@pytest.mark.feature("F222")
def test_a_killed_run_is_gone_on_with(killed, tmp_path):
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").write_text("by hand")
    refused = killed("--resume", "--pillar", '{"long": 0}')
    assert refused.returncode == 1
    assert "cannot be resumed" in refused.stderr
    assert "~ pillar key: long" in refused.stderr or "pillar key" in refused.stderr
    forced = killed("--resume", "--force", "--pillar", '{"long": 0}', "--out", "json")
    assert forced.returncode == 0, forced.stderr
    assert (tmp_path / "a").read_text() == "by hand"
    assert (tmp_path / "late").read_text() == "x\n"
    again = killed("--resume", "--pillar", '{"long": 0}')
    assert again.returncode == 1
    assert said_of("nothing-to-resume") in again.stderr


GOES_ON = """
slow:
  cmd.run:
    - name: 'test -e {0}/began && echo again >> {0}/order; touch {0}/began; while test -d {0} && ! test -e {0}/go; do sleep 0.05; done; echo done >> {0}/order'
    - shell: /bin/sh
"""


@pytest.fixture
def going_on(run_cli, program, tmp_path):
    """Kill a run, but not the program of its state, which ends when the file ``go`` is there; return what resumes it."""
    kill_while(run_cli, program, tmp_path, GOES_ON)
    started = []

    def begin(*words):
        command = [str(program), "apply", "--resume", "--file-root", str(tmp_path), *words]
        started.append(
            subprocess.Popen(
                command, env=run_cli.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, bufsize=1
            )
        )
        return started[-1]

    yield begin
    (tmp_path / "go").touch()
    for process in started:
        process.wait()
        process.stderr.close()


def test_what_the_killed_run_was_doing_does_not_meet_what_is_run_again(going_on, tmp_path):
    refused = going_on("--wait", "0.1")
    _, said = refused.communicate()
    assert refused.returncode == 1
    assert re.search(r"the run of process \d+, begun [-\d: ]+ " + said_of("processes-go-on"), said)
    assert re.search(r"process \d+ \(sh, since [-\d: ]+\)", said)
    assert said_of("beside-killed") in said
    resumed = going_on()
    while "it waits 30 s for that" not in (line := resumed.stderr.readline()):
        assert line, "it did not wait"
    (tmp_path / "go").touch()
    _, said = resumed.communicate()
    assert resumed.returncode == 0, said
    assert (tmp_path / "order").read_text().split() == ["done", "again", "done"]


def test_what_goes_on_can_be_ended(going_on, tmp_path):
    resumed = going_on()
    while not (found := re.search(r": kill ([\d ]+)", line := resumed.stderr.readline())):
        assert line, "it named nothing"
    for pid in found[1].split():
        with suppress(ProcessLookupError):  # a sleep of the loop
            os.kill(int(pid), signal.SIGKILL)
    (tmp_path / "go").touch()
    _, said = resumed.communicate()
    assert resumed.returncode == 0, said
    assert (tmp_path / "order").read_text().split() == ["again", "done"]


def test_force_goes_on_beside_it(going_on, tmp_path):
    forced = going_on("--force")
    while not (tmp_path / "order").exists():
        assert forced.poll() is None
        time.sleep(0.02)
    (tmp_path / "go").touch()
    _, said = forced.communicate()
    assert forced.returncode == 0, said
    assert "its processes still run" in said
