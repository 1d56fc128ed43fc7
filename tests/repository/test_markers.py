"""No test is dropped: what `make test` leaves out because of a mark, a session of `nox -s full` runs."""

import re
import tomllib


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
