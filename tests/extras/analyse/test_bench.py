"""``asyncstate bench``: the times of a dry run, in place of its report."""

from __future__ import annotations

import re

import pytest

TREE = """
made:
  file.managed:
    - name: {root}/made
    - contents: new
    - makedirs: {makedirs}
"""


@pytest.fixture
def bench(run_here, tmp_path):
    """Run bench on a tree of one state, in this process."""

    def call(*words, makedirs=True):
        (tmp_path / "states").mkdir(exist_ok=True)
        (tmp_path / "states" / "web.sls").write_text(TREE.format(root=tmp_path / "new", makedirs=makedirs))
        return run_here("bench", "web", *words, "--file-root", tmp_path / "states")

    return call


@pytest.mark.feature("F158")
def test_bench_shows_the_times_and_changes_nothing(bench, tmp_path):
    done = bench()
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    assert first.startswith("Before the run: ")
    before = [re.split(r" {2,}|;", line)[2] for line in lines[: lines.index("")]]  # a time may have several words
    assert before == ["start", "grains", "pillar", "compile"]
    assert {"Functions", "Slowest states"} < set(lines)
    assert "8 slots, " in lines[-1] or " of the whole time. " in lines[-1]
    assert not (tmp_path / "new").exists()


def test_a_state_that_fails_is_shown_above_the_times(bench):
    done = bench(makedirs=False)
    assert done.returncode == 2
    assert done.stdout.index("web.sls:") < done.stdout.index("Before the run: ")


def test_the_times_go_beside_data(bench):
    done = bench("--out", "json")
    assert done.stdout.startswith("{")
    assert done.stderr.startswith("Before the run: ")


def test_bench_is_never_a_real_run(bench, tmp_path):
    done = bench("test=False")
    assert done.returncode == 1
    assert "bench never changes anything. For a real run: asyncstate apply --profile" in done.stderr
    assert not (tmp_path / "new").exists()
