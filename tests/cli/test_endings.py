"""Ends of the command line with real processes: after ``kill -9``, in the first moments, and without a reader."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from messages import said
from tables import beside

from asyncstate.process.lineage import look_at

TABLES = beside(__file__)

PROGRAM = Path(sys.executable).with_name("asyncstate")

CHILD = """
import os, signal, sys, time
file, *kinds = sys.argv[1:]
if "deaf" in kinds:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "daemon" in kinds:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
with open(file + ".new", "w") as out:
    out.write(str(os.getpid()))
os.rename(file + ".new", file)
null = os.open(os.devnull, os.O_RDWR)
for number in range(3):
    os.dup2(null, number)
while True:
    time.sleep(600)
"""

TREE = TABLES["tree"]

OWN = """
import subprocess, time
from asyncstate import residue

def starts(name, command):
    subprocess.run(command)
    return {"name": name, "result": True, "changes": {}, "comment": ""}

def writes(name, folder):
    with residue.temporary_folder("half-", folder):
        open(folder + "/writing", "w").close()
        __salt__["cmd.run"]("sleep 600")
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""

SURVIVE = ("ended-daemon", "ended-background")
GONE = ("foreground", "deaf", "setsid", "forked", "plugin")


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


class Site:
    """A tree whose states start all sorts of programs, and the command line that applies it."""

    def __init__(self, tmp_path):
        self.base = tmp_path
        self.processes = []
        self.pids = tmp_path / "pids"
        self.cache = tmp_path / "cache"
        self.tree = tmp_path / "salt"
        self.pids.mkdir()
        (self.tree / "_states").mkdir(parents=True)
        (self.tree / "_states" / "own.py").write_text(OWN)
        child = tmp_path / "child.py"
        child.write_text(CHILD)
        self.tree.joinpath("all.sls").write_text(TREE.format(python=sys.executable, child=child, pids=self.pids))
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith("ASYNCSTATE_")}
        self.environ |= {
            "HOME": str(tmp_path),
            "ASYNCSTATE_CACHEDIR": str(self.cache),
            "ASYNCSTATE_STATE_DIR": str(tmp_path / "state"),
            "TMPDIR": str(self.pids),
        }

    def begin(self, *words, grace="0.2", sls="all", command=(), **streams):
        """Start a run."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True, **streams}
        command = [PROGRAM, *(command or ("apply", sls)), "--file-root", self.tree, *words]
        process = subprocess.Popen(
            command, env={**self.environ, "ASYNCSTATE_GRACE_SECONDS": grace}, text=True, **streams
        )
        self.processes.append(process)
        return process

    def under_way(self, process):
        """Wait until every program runs."""
        names = (*SURVIVE, *GONE, "writing")
        until(lambda: all((self.pids / name).exists() for name in names) or process.poll() is not None)
        assert process.poll() is None, process.communicate()

    def pid(self, name):
        return int((self.pids / name).read_text())

    def living(self):
        return {name for name in (*SURVIVE, *GONE) if (self.pids / name).exists() and look_at(self.pid(name))}

    def temporary(self):
        return sorted(path.name for path in self.pids.iterdir() if path.name.startswith(("half-", ".", "tmp", "async")))

    def left_in_cache(self):
        return sorted(path.name for path in self.cache.iterdir() if path.name not in ("run.lock", "extmods"))


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    for process in site.processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    for name in (*SURVIVE, *GONE):
        with contextlib.suppress(OSError, ValueError):
            os.kill(site.pid(name), signal.SIGKILL)


def test_after_kill_the_next_run_clears_and_names(site):
    with site.begin("-j", "16") as process:
        site.under_way(process)
        process.kill()
        process.communicate()
    assert site.temporary() != []
    site.tree.joinpath("none.sls").write_text("none: test.nop\n")
    with site.begin(sls="none") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert site.temporary() == []
    assert site.left_in_cache() == ["remains"]
    for name in ("foreground", "deaf", "setsid", "forked"):
        assert f"process {site.pid(name)} (" in errors
    for name in SURVIVE:
        assert f"process {site.pid(name)} (" not in errors
    assert site.living() == {*SURVIVE, *GONE}  # nothing was ended
    for pid in re.search(r": kill ([\d ]+)", errors)[1].split():  # as the message says
        os.kill(int(pid), signal.SIGKILL)
    until(lambda: site.living() <= {*SURVIVE, "plugin"})


MANY = "".join(f"s{number}:\n  file.touch:\n    - name: {{0}}/touched{number}\n" for number in range(30))


@pytest.fixture
def many(site):
    site.tree.joinpath("many.sls").write_text(MANY.format(site.pids))
    return site


def touched(site):
    return sum(path.name.startswith("touched") for path in site.pids.iterdir())


@pytest.mark.parametrize(
    "words", [("--progress", "plain"), ("--out", "jsonl"), ("--progress", "plain", "--out", "json")]
)
def test_the_run_does_not_end_with_its_reader(many, words):
    with many.begin("-j", "1", *words, sls="many", stderr=subprocess.STDOUT) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
    assert touched(many) == 30


def test_a_full_disk_for_progress_ends_nothing(many):
    with open("/dev/full", "w") as full, many.begin("--progress", "plain", sls="many", stderr=full) as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, touched(many)) == (0, 30)
    assert "Succeeded: 30" in out


@pytest.mark.parametrize("streams", [("stderr",), ("stdout", "stderr")])
@pytest.mark.parametrize("form", ["human", "jsonl"])
def test_a_terminal_that_went_away_ends_the_display(many, streams, form):
    many.tree.joinpath("many.sls").write_text(
        f"slow:\n  cmd.run:\n    - name: 'touch {many.pids}/begun; while [ ! -e {many.pids}/go ]; do sleep 0.1; done'\n"
        + MANY.format(many.pids)
    )
    ours, theirs = pty.openpty()
    report = many.base / "junit.xml"
    words = ("--progress", "live", "--junit", report, "--out", form)
    with many.begin(*words, sls="many", **dict.fromkeys(streams, theirs)) as process:
        os.close(theirs)
        until((many.pids / "begun").exists)
        assert os.read(ours, 100)  # the display is there
        os.close(ours)
        (many.pids / "go").touch()
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, touched(many)) == (0, 30)
    assert "stdout" in streams or ("Succeeded: 31" in out if form == "human" else len(out.splitlines()) >= 64)
    assert report.exists()


def test_where_too_few_descriptors_are_allowed_nothing_begins(many):
    few = (20, 20)
    with many.begin(sls="many", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)) as process:
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, touched(many)) == (1, 0)
    assert errors.startswith(said("too-few-files", limit=20))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_waiting_for_another_run(site, number):
    from asyncstate.guard.lock import RunLock

    with RunLock(str(site.cache)), site.begin("--wait", "600") as process:
        assert process.stderr.readline().startswith("waiting")
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors == f"asyncstate: ended by {number.name}\n"


@pytest.mark.parametrize("words", [("apply", "slow"), ("show", "lowstate", "slow")])
def test_a_signal_while_the_tree_is_compiled(site, words):
    pid = site.pids / "pid"
    site.tree.joinpath("slow.sls").write_text(
        f"{{{{ salt['cmd.run']('echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600', python_shell=True) }}}}\n"
    )
    with site.begin(command=words) as process:
        until(pid.exists)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert errors == "asyncstate: ended by SIGTERM\n"
    assert look_at(int(pid.read_text())) is None
    assert site.temporary() == []


def test_what_was_ignored_stays_ignored(many):
    many.tree.joinpath("many.sls").write_text(
        f"slow:\n  cmd.run:\n    - name: 'touch {many.pids}/begun; while [ ! -e {many.pids}/go ]; do sleep 0.1; done'\n"
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = many.begin(sls="many")
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        until((many.pids / "begun").exists)
        process.send_signal(signal.SIGHUP)
        (many.pids / "go").touch()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "SIGHUP" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_first_moments(number):
    """While the program is still being imported, too, a signal ends it with a word."""
    program = (
        "import os, sys; import asyncstate.cli as cli\n"
        f"class Late:\n    def find_spec(self, *_): os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Late()); cli.main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + number, f"asyncstate: ended by {number.name}\n")


AUDITS = """
AUDIT = open({log!r}, "a")

def run(name):
    AUDIT.write("line\\n")
    return {{"name": name, "changes": {{}}, "result": True, "comment": ""}}
"""


def test_what_a_plugin_of_the_tree_has_not_written_yet_is_written(tmp_path):
    (tmp_path / "_states").mkdir()
    log = tmp_path / "audit.log"
    (tmp_path / "_states" / "audited.py").write_text(AUDITS.format(log=str(log)), encoding="utf-8")
    (tmp_path / "top.sls").write_text("base: {'*': [all]}\n", encoding="utf-8")
    (tmp_path / "all.sls").write_text("a: {audited.run: []}\n", encoding="utf-8")
    environ = {**os.environ, "ASYNCSTATE_CACHEDIR": str(tmp_path / "c"), "ASYNCSTATE_STATE_DIR": str(tmp_path / "s")}
    done = subprocess.run(
        [PROGRAM, "apply", "--file-root", str(tmp_path)], env=environ, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert log.read_text(encoding="utf-8") == "line\n"


BEHIND = """
import os, signal, sys
from importlib import import_module
module, name, method = sys.argv[1].rsplit(".", 2)
holder = getattr(import_module(module), name)
once = getattr(holder, method)
def signalled(self, *args):
    os.kill(os.getpid(), signal.SIGTERM)
    return once(self, *args)
setattr(holder, method, signalled)
from asyncstate.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("where", ["cli.saved_plan.SavedPlan.note_used", "runtime.StateRuntime.__aexit__"])
def test_a_signal_behind_the_end_of_a_run_does_not_take_its_report(tmp_path, where):
    (tmp_path / "a.sls").write_text("a:\n  test.succeed_with_changes: []\n")
    plan, results = tmp_path / "a.plan", tmp_path / "results.xml"
    words = ["--file-root", tmp_path]
    env = {**os.environ, "ASYNCSTATE_STATE_DIR": f"{tmp_path}/state", "ASYNCSTATE_CACHEDIR": f"{tmp_path}/cache"}
    subprocess.run([PROGRAM, "plan", "a", *words, "--plan-out", plan], check=True, capture_output=True, env=env)
    done = subprocess.run(
        [sys.executable, "-c", BEHIND, f"asyncstate.{where}", "apply", "--plan", plan, *words, "--junit", results],
        check=False, capture_output=True, text=True, env=env,
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1]) == (143, "asyncstate: ended by SIGTERM")
    assert "Succeeded: 1 (changed=1)" in done.stdout
    assert 'tests="1" failures="0" errors="0"' in results.read_text()
