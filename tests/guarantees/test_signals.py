"""A signal at any step of the program ends it: with the exit code of the signal, a word, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

TREE = """
{% set said = salt['cmd.run']('echo said') %}
command:
  cmd.run:
    - name: sleep 0.05; echo {{ said }}
file:
  file.managed:
    - name: {{ pillar['to'] }}/file
    - contents: text
    - makedirs: True
    - require:
      - cmd: command
"""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PAIRS = ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM), (signal.SIGHUP, signal.SIGINT))
PATIENCE = 60.0


class Site:
    """A tree, and the program that applies it."""

    def __init__(self, base, program):
        self.base = base
        self.program = program
        (base / "srv").mkdir()
        (base / "srv" / "tree.sls").write_text(TREE)

    def run(self, point, signals, gap=0):
        """Apply the tree, with these signals at a step; return the exit code and what was written."""
        words = [str(point), str(gap), ",".join(str(int(number)) for number in signals), str(self.base / "steps")]
        settings = ["--file-root", self.base / "srv", "--pillar", f"{{to: {self.base / 'to'}}}", "-l", "warning"]
        with subprocess.Popen(
            [sys.executable, self.program, *words, "apply", "tree", *settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "HOME": str(self.base),
                "ASYNCSTATE_CACHEDIR": str(self.base / "cache"),
                "ASYNCSTATE_STATE_DIR": str(self.base / "state"),
            },
        ) as process:
            try:
                out, errors = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out, errors

    def steps(self):
        code, _, errors = self.run(0, ())
        assert code == 0, errors
        return int((self.base / "steps").read_text())


@pytest.fixture(scope="module")
def site(tmp_path_factory, checkout):
    site = Site(tmp_path_factory.mktemp("signals"), checkout / "tests" / "support" / "signalled_program.py")
    site.run(0, ())  # compiles what is imported
    return site


def ended(site, point, signals, gap=0):
    """Return what is wrong with the end of the program."""
    names = {signal.Signals(number).name for number in signals}
    try:
        code, out, errors = site.run(point, signals, gap)
    except subprocess.TimeoutExpired:
        return f"{point} {names}: it did not end"
    if code not in {128 + int(number) for number in signals}:
        return f"{point} {names}: exit code {code}, {errors[-500:]}"
    if "Traceback" in errors + out or not any(f"{name}: " in errors or f"ended by {name}" in errors for name in names):
        return f"{point} {names}: {errors[-500:]}"
    return ""


def points(steps, number):
    """Return this many points, spread over all steps."""
    return [1 + (2 * index + 1) * steps // (2 * number) for index in range(number)]


@pytest.mark.timeout(600)
def test_a_signal_at_any_step_ends_the_program(site):
    each = points(site.steps(), 14)
    wrong = [ended(site, point, (SIGNALS[index % 3],)) for index, point in enumerate(each[:9])]
    wrong += [ended(site, point, PAIRS[index % 3], gap=(0, 300)[index % 2]) for index, point in enumerate(each[9:])]
    assert [each for each in wrong if each] == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("signals", [*((number,) for number in SIGNALS), *PAIRS])
def test_a_signal_at_many_steps_ends_the_program(site, signals):
    steps = site.steps()
    wrong = [
        ended(site, point, signals, gap=(0, 20, 5000)[index % 3]) for index, point in enumerate(points(steps, 400))
    ]
    assert [each for each in wrong if each] == []
