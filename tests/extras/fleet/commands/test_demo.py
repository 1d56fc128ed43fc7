"""`fleet demo`: three hosts on this machine come into their state, as the README shows, and stay for further runs."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fleet_server import PATIENCE


def processes_of(folder):
    """The processes whose command line names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words:
            found.append(int(path.parent.name))
    return found


class Demo:
    def __init__(self, home):
        self.home = home
        self.folder = home / "the demo"  # a name that a shell would split
        self.environ = {
            **os.environ,
            "HOME": str(home),
            "ASYNCSTATE_STATE_DIR": str(home / "state"),
            "ASYNCSTATE_CACHEDIR": str(home / "cache"),
        }
        command = [sys.executable, "-m", "asyncstate", "fleet", "demo", "--dir", str(self.folder), "--stay"]
        self.process = subprocess.Popen(
            command, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        alarm = threading.Timer(2 * PATIENCE, self.process.kill)
        alarm.start()
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("Its trees:"):
                break
        alarm.cancel()

    def run(self, *words):
        (export,) = (line for line in self.lines if line.startswith("  export "))
        exported = dict(word.split("=", 1) for word in shlex.split(export)[1:])
        return subprocess.run(
            [sys.executable, "-m", "asyncstate", *words],
            env={**self.environ, **exported},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    made = Demo(tmp_path_factory.mktemp("demo"))
    yield made
    made.stop()


def normal(line):
    """A line without what differs from run to run."""
    return re.sub(r"Run [0-9a-f]+", "Run ID", re.sub(r" in /.+", " in FOLDER", line))


def test_the_demo_of_the_readme(demo, checkout):
    (shown,) = re.findall(
        r"^```console\n\$ asyncstate fleet demo\n(.*?)^```",
        (checkout / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    wanted = [normal(line) for line in shown.splitlines() if line != "…"]
    found = [normal(line) for line in demo.lines]
    assert [line for line in found if line in wanted] == wanted
    made = {path.name for host in ("db1", "app1", "lb1") for path in (demo.folder / host / "root").iterdir()}
    assert {"database.log", "application.log", "balancer.log"} <= made


def test_the_tree_that_the_readme_shows_is_that_of_the_demo(checkout):
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", (checkout / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown in (checkout / "asyncstate" / "extras" / "fleet" / "demo_tree" / "application.sls").read_text()


def test_a_second_apply_changes_nothing_and_a_change_goes_through_all_hosts(demo):
    again = demo.run("fleet", "apply", "--target", "*")
    assert again.returncode == 0, again.stderr
    assert "changed=" not in again.stdout
    changed = demo.run("fleet", "apply", "--target", "*", "--pillar", "{port: 5433}", "--progress", "none")
    assert changed.returncode == 0, changed.stderr
    assert re.findall(r"Summary for (\w+)\n-+\nSucceeded: 2 \(changed=(\d)\)", changed.stdout) == [
        ("app1", "1"), ("db1", "2"), ("lb1", "1"),
    ]  # fmt: skip


def test_ctrl_c_ends_all_of_it(tmp_path):
    demo = Demo(tmp_path)
    assert len(processes_of(demo.folder)) >= 5
    assert demo.stop() == 0
    assert processes_of(demo.folder) == []
    assert (demo.folder / "db1" / "tree" / "database.sls").exists()


def test_a_folder_that_cannot_be_made_is_said(run_cli, tmp_path):
    (tmp_path / "file").touch()
    done = run_cli("fleet", "demo", "--dir", tmp_path / "file" / "demo")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
