"""A process that must end where it is leaves the report, and the files that were asked for, all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from messages import said
from tables import beside

TABLES = beside(__file__)

HANG = """
import threading
def first(name):
    return {"name": name, "result": True, "changes": {"made": name}, "comment": "was first"}
async def held(name):
    print("held", file=open(name, "w"))
    threading.Event().wait()  # the loop does nothing more
"""
TREE = TABLES["tree"]
SOON = "import sys, asyncstate.cli.event_loop as ending; ending._LATEST = 0.5\nfrom asyncstate.cli import main\nsys.exit(main())"
"""The program, which gives a cancelled run half a second, not a minute."""


class Site:
    """A tree, one state of which holds up the event loop."""

    def __init__(self, base):
        self.base = base
        self.news = base / "news"
        os.mkfifo(self.news)
        (base / "srv" / "_states").mkdir(parents=True)
        (base / "srv" / "_states" / "hang.py").write_text(HANG)
        (base / "srv" / "tree.sls").write_text(TREE.format(news=self.news))

    @contextmanager
    def started(self, *arguments, program=SOON, command="apply", words=()):
        environment = {
            **os.environ,
            "HOME": str(self.base),
            "ASYNCSTATE_CACHEDIR": str(self.base / "cache"),
            "ASYNCSTATE_STATE_DIR": str(self.base / "state"),
        }
        words = words or [
            *("tree", "--file-root", "srv", "--grace", "0.1"),
            *("--junit", "j.xml", "--metrics", "m.prom"),
        ]
        with subprocess.Popen(
            [sys.executable, "-c", program, command, *words, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=self.base,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def text(self, name):
        path = self.base / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def is_told(site, code):
    """Whether the files of the run tell of it."""
    junit, metrics = site.text("j.xml"), site.text("m.prom")
    assert 'name="hang.first: one"' in junit
    assert 'errors="1"' in junit
    assert "ended where it was" in junit
    assert f"asyncstate_exit_code {code}\n" in metrics
    assert "asyncstate_success 0\n" in metrics
    return 'asyncstate_states{outcome="changed"} 1\n' in metrics


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_run_whose_loop_is_held_up_ends_and_reports(site, number):
    with site.started("--out", "json") as process:
        site.news.read_text()
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"ended by {number.name}" in errors
    assert [row["comment"] for row in json.loads(out).values()] == ["was first"]
    assert is_told(site, 128 + number)


def test_a_person_interrupts_twice(site):
    with site.started() as process:
        site.news.read_text()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "was first" in out
    assert "Not started: 1 state" in out
    assert is_told(site, 130)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_number_of_signals_changes_the_exit_code_or_shows_a_traceback(site, number):
    """From the first one on, they arrive before, while and after the process that reports begins."""
    with site.started() as process:
        site.news.read_text()
        process.send_signal(signal.SIGQUIT)
        while process.poll() is None:
            process.send_signal(number)
            time.sleep(0.002)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGQUIT, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("out", ["jsonl", "json"])
def test_a_reader_who_does_not_read_is_not_waited_for(site, out):
    """JSON lines are begun already, so they end where they are."""
    with site.started("--out", out) as process:
        site.news.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
        answer = process.stdout.read()
    kept = [json.loads(line) for line in answer.splitlines()] if out == "jsonl" else json.loads(answer)
    assert len(kept) > 0
    assert is_told(site, 143)


def test_without_a_journal_the_files_say_that_nothing_is_known(site):
    (site.base / "config.yaml").write_text("journal: 'off'\n")
    with site.started("--config", "config.yaml") as process:
        site.news.read_text()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "no run" in errors
    assert said("states-not-reported") in site.text("j.xml")
    assert "asyncstate_exit_code 143\n" in site.text("m.prom")


@pytest.mark.parametrize("module", ["asyncstate.cli.root", "asyncstate.cli.session"])
def test_a_signal_during_the_imports_leaves_files_that_say_so(site, module):
    """CI must not take an older file for the result of this run."""
    (site.base / "j.xml").write_text("old")
    program = f"""
import os, sys
class Signalled:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), 15)
from asyncstate.cli import main
sys.meta_path.insert(0, Signalled())
sys.exit(main())
"""
    with site.started(program=program) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors
    assert "ended by SIGTERM" in errors
    assert "ended" in site.text("j.xml")
    assert "old" not in site.text("j.xml")
    assert "asyncstate_exit_code 143\n" in site.text("m.prom")


BUG = """
import sys
from asyncstate.cli import main
from asyncstate.run.recorder import Recorder
real = Recorder.record
def record(self, *args, **kwargs):
    real(self, *args, **kwargs)
    raise {error}
Recorder.record = record
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("error", "said"), [("ValueError('odd')", "internal error: ValueError: odd"), ("MemoryError()", "memory ran out")]
)
def test_a_run_that_ends_from_within_reports_what_had_ended(site, error, said):
    with site.started("--out", "json", program=BUG.format(error=error)) as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 70
    assert said in errors
    assert [row["comment"] for row in json.loads(out).values()] == ["was first"]
    assert is_told(site, 70)


@pytest.mark.parametrize("error", ["ValueError('odd')", "MemoryError()"])
def test_a_report_that_cannot_be_made_is_made_by_a_new_process(site, error):
    (site.base / "srv" / "tree.sls").write_text("one:\n  hang.first: []\n")
    program = f"""
import sys
from asyncstate.cli import main
from asyncstate.cli.console import Console
def data(self, value, **_):
    raise {error}
Console.data = data
sys.exit(main())
"""
    with site.started("--out", "json", program=program) as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 70, errors
    assert [row["comment"] for row in json.loads(out).values()] == ["was first"]
    assert is_told(site, 70)


def test_a_signal_after_the_report_leaves_it(site):
    """Nothing is written a second time, when all has been written."""
    (site.base / "srv" / "tree.sls").write_text("one:\n  hang.first: []\n")
    program = """
import os, sys
import asyncstate.cli.root as root
from asyncstate.cli import main
real = root.dispatch
def dispatch(*args):
    real(*args)
    os.kill(os.getpid(), 15)
root.dispatch = dispatch
sys.exit(main())
"""
    with site.started(program=program) as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert out.count("was first") == 1
    assert 'errors="0"' in site.text("j.xml")


def test_the_next_command_tells_of_a_run_that_was_killed(site):
    """Nobody but it can: a process that is killed, or that Python aborts, does nothing more."""
    with site.started() as process:
        site.news.read_text()
        process.kill()
        process.communicate()
    assert not site.text("j.xml")
    (site.base / "srv" / "tree.sls").write_text("one:\n  test.nop: []\n")
    with site.started() as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert f"the run of process {process.pid}" not in errors
    assert said("killed-run") in errors
    with site.started(command="runs", words=["list", "--out", "json"]) as process:
        out, _ = process.communicate(timeout=60)
    (killed,) = [entry["id"] for entry in json.loads(out) if entry["ending"] == "killed"]
    with site.started(command="replay", words=[killed, "--junit", "j.xml"]) as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 125
    assert "was first" in out
    assert "Not started: 1 state" in out
    assert 'errors="1"' in site.text("j.xml")
    assert "The run was killed." in site.text("j.xml")


def test_a_planted_module_is_not_imported(site):
    """The working directory may be another user's."""
    for name in ("json.py", "click.py", "signal.py"):
        (site.base / name).write_text(f"open({str(site.base / 'run')!r}, 'w')\n")
    program = f"import sys\nsys.path.remove('')\n{SOON}"
    with site.started(program=program) as process:
        site.news.read_text()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert is_told(site, 143)
    assert not (site.base / "run").exists()


ENDS = """
import os, resource
def leaves(name):
    os._exit(0)
def starves(name):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return {"name": name, "result": True, "changes": {}, "comment": "took all"}
"""


@pytest.mark.parametrize("function", ["leaves", "starves"])
def test_a_plugin_that_takes_the_process_or_its_descriptors(site, function):
    """What leaves with os._exit gives its own exit code, and the next command tells; without descriptors, we do."""
    (site.base / "srv" / "_states" / "ends.py").write_text(ENDS)
    (site.base / "srv" / "tree.sls").write_text(f"one:\n  ends.{function}: []\ntwo:\n  cmd.run:\n    - name: echo hi\n")
    with site.started() as process:
        out, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    if function == "starves":
        assert process.returncode in {0, 2, 70}, errors
        assert "took all" in out
        assert "bug in asyncstate" not in errors
        return
    assert (process.returncode, out) == (0, "")
    (site.base / "srv" / "tree.sls").write_text("one:\n  test.nop: []\n")
    with site.started() as process:
        _, errors = process.communicate(timeout=60)
    assert said("killed-run") in errors
