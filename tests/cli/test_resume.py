"""apply --resume: which run, what it refuses, --force, and what is remembered of the selection."""

import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest

SLOW = """
a:
  file.managed: [name: {0}/a, contents: {{{{ pillar.get('text', 'x') }}}}]
wait:
  cmd.run: [name: 'touch {0}/began; sleep {{{{ pillar.get("long", 600) }}}}', require: [file: a], shell: /bin/sh]
late:
  file.managed: [name: {0}/late, contents: x, require: [cmd: wait]]
other:
  test.succeed_with_changes: [require: [file: a]]
"""


@pytest.fixture
def killed(run_cli, program, tmp_path):
    """Kill a run while one of its states runs, and return a function that runs the command line after that."""
    (tmp_path / "web.sls").write_text(SLOW.format(tmp_path))
    command = [str(program), "apply", "web", "--file-root", str(tmp_path), "-j1", "--pillar", '{"long": 30}']
    child = subprocess.Popen(
        command, env=run_cli.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not (tmp_path / "began").exists():
        assert child.poll() is None
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.getsid(int(pid)) == child.pid:
                os.kill(int(pid), signal.SIGKILL)
    return lambda *words: run_cli("apply", "--file-root", tmp_path, "-j1", *words)


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
    assert "came to its end: there is nothing to resume" in again.stderr


def test_what_makes_no_sense_is_refused(run_cli, tmp_path):
    (tmp_path / "web.sls").write_text("a: {test.nop: []}")

    def said(*words):
        done = run_cli("apply", "--file-root", tmp_path, *words)
        assert done.returncode != 0
        return done.stderr

    assert "the journal has no run to resume" in said("--resume")
    assert "--force belongs to --resume" in said("web", "--force")
    assert "needs a real run" in said("--resume", "--test")
    assert run_cli("apply", "web", "--file-root", tmp_path).returncode == 0
    assert "has no run 'ffff'" in said("--resume=ffff")
    assert "came to its end" in said("--resume")
