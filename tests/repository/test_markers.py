"""No test is dropped: what `make test` leaves out because of a mark, a session of `nox -s full` runs.

None fails for want of time: who draws more cases has more of it.
"""

import os
import re
import subprocess
import sys
import tomllib

import pytest


def test_what_make_test_leaves_out_is_run_by_nox_full(checkout):
    options = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    left_out = set(re.findall(r"\bnot (\w+)", options[options.index("-m") + 1]))
    sessions = (checkout / "noxfile.py").read_text()
    full = sessions[sessions.index("def full(") :]
    (chosen,) = re.findall(r'\("-m", "([^"]+)"\) if name == "tests"', full)

    def runs(*marks):
        return eval(chosen, {}, {mark: mark in marks for mark in left_out})

    run = {mark for mark in left_out if runs(mark)}
    run |= {
        mark
        for name, mark in re.findall(r'\ndef (\w+)\((?:(?!\n@)[\s\S])*?"-m", "(\w+)"', sessions)
        if f'"{name}"' in full
    }
    assert "slow" in left_out
    assert run == left_out
    assert runs(), "those without a mark, too"


@pytest.mark.parametrize(("profile", "seconds"), [("ci", 180), ("explore", 3600)])
def test_a_property_has_time_for_the_cases_that_are_drawn(checkout, profile, seconds):
    environ = {key: value for key, value in os.environ.items() if key != "PYTEST_TIMEOUT"}
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/test_nearest.py"],
        cwd=checkout,
        env=environ | {"HYPOTHESIS_PROFILE": profile},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"timeout: {seconds}.0s" in said
