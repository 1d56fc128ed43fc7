"""A signal at any step of the program ends it: with the exit code of the signal, a word, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cached_property

import pytest
from tables import beside

TABLES = beside(__file__)

TREE = TABLES["tree"]
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

    def run(self, point, signals, *, way=0, gap=0):
        """Apply the tree, with these signals at a step; return the exit code and what was written."""
        numbers = ",".join(str(int(number)) for number in signals)
        words = [str(point), str(way), str(gap), numbers, str(self.base / "steps")]
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

    @cached_property
    def steps(self):
        """Return the numbers of the first step of `main`, of its last one, and of the last one of all."""
        code, _, errors = self.run(0, ())
        assert code == 0, errors
        return tuple(int(number) for number in (self.base / "steps").read_text().split())


@pytest.fixture(scope="module")
def site(tmp_path_factory, checkout):
    site = Site(tmp_path_factory.mktemp("signals"), checkout / "tests" / "support" / "signalled_program.py")
    site.run(0, ())  # compiles what is imported
    return site


def ended(site, point, signals, *, way=0, gap=0, besides=()):
    """Return what is wrong with the end of the program. Without a word, it may end with the codes ``besides``."""
    names = {signal.Signals(number).name for number in signals}
    case = f"{point} way {way} gap {gap} {names}"
    counted = (site.base / "steps").stat().st_mtime_ns
    try:
        code, out, errors = site.run(point, signals, way=way, gap=gap)
    except subprocess.TimeoutExpired:
        return f"{case}: it did not end"
    if "Traceback" in errors + out:
        return f"{case}: {errors[-500:]}"
    if code in besides or (code == 0 and (site.base / "steps").stat().st_mtime_ns != counted):
        return ""  # it had fewer steps this time, and nothing has arrived
    if code not in {128 + int(number) for number in signals}:
        return f"{case}: exit code {code}, {errors[-500:]}"
    if not any(f"{name}: " in errors or f"ended by {name}" in errors for name in names):
        return f"{case}: {errors[-500:]}"
    return ""


def points(begin, end, number):
    """Return this many points, spread over these steps."""
    return [begin + (2 * index + 1) * (end - begin) // (2 * number) for index in range(number)]


def walked(site, each, signals):
    """Return what is wrong at these points, where signals arrive in turns in all ways, alone and in pairs."""
    _, last, _ = site.steps
    wrong = []
    for index, point in enumerate(each):
        way = (0, 1 + index * 37 % 200, -1)[index // 3 % 3]
        # What comes a moment later may come when all has ended.
        besides = {0} if way < 0 and point > last * 9 // 10 else ()
        wrong.append(
            ended(site, point, signals[index % len(signals)], way=way, gap=(0, 20, 5000)[index % 3], besides=besides)
        )
    return [case for case in wrong if case]


@pytest.mark.timeout(600)
def test_a_signal_at_any_step_ends_the_program(site):
    first, last, _ = site.steps
    assert walked(site, points(first, last, 12), [*((number,) for number in SIGNALS), *PAIRS]) == []


@pytest.mark.timeout(600)
def test_a_signal_before_the_program_begins_or_after_it_has_ended_leaves_its_exit_code(site):
    """Before its first line and after its last one, Python ends the program, without a word."""
    first, last, all_ = site.steps
    number = signal.SIGTERM
    wrong = [ended(site, point, (number,), besides={-number}) for point in points(1, first, 2)]
    wrong += [ended(site, point, (number,), besides={-number, 0}) for point in points(last, all_, 4)]
    assert [case for case in wrong if case] == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("signals", [*((number,) for number in SIGNALS), *PAIRS])
def test_a_signal_at_many_steps_ends_the_program(site, signals):
    first, last, _ = site.steps
    assert walked(site, points(first, last, 400), [signals]) == []
