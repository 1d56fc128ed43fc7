"""show and call on a small tree."""

from __future__ import annotations

import json

import pytest
from messages import said
from tables import beside

TABLES = beside(__file__)

TREE = TABLES["tree"]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def run(tree, run_here):
    """Run a command on the tree, in this process."""
    return lambda *words: run_here(*words, "--file-root", tree)


def answer(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.feature("F151")
def test_lowstate_is_low_data_in_serial_order(run):
    chunks = answer(run("show", "lowstate", "--out", "json"))
    assert [chunk["__id__"] for chunk in chunks] == ["start", "other", "conf", "last"]
    assert chunks[2]["name"] == "/etc/conf"
    assert chunks[2]["state"] == "test"
    assert chunks[2]["fun"] == "nop"
    assert chunks[2]["__sls__"] == "web"


def test_lowstate_for_people_numbers_states_and_what_they_wait_for(run):
    assert run("show", "lowstate", "web").stdout.splitlines() == [
        "1  test.nop: start             base",
        "2  test.nop: other             base",
        "3  test.nop: conf (/etc/conf)  web   after 1",
        "4  test.nop: last              web   after 1, 2",
    ]


@pytest.mark.feature("F151")
def test_highstate_and_sls(run):
    high = answer(run("show", "highstate", "--out", "json"))
    assert set(high) == {"start", "other", "conf", "last"}
    assert set(answer(run("show", "sls", "base", "--out", "json"))) == {"start", "other"}
    assert "start:\n" in run("show", "sls", "base").stdout


@pytest.mark.feature("F151")
def test_top(run):
    assert answer(run("show", "top", "--out", "json")) == {"base": ["web"]}
    assert run("show", "top").stdout == "base:\n    - web\n"


def test_errors_do_not_mix_with_data(run):
    done = run("show", "lowstate", "broken")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Data failed to compile:" in done.stderr
    done = run("show", "lowstate", "broken", "--out", "json")
    assert done.returncode == 1
    assert isinstance(json.loads(done.stdout), list)


@pytest.mark.feature("F152")
def test_call(run):
    assert answer(run("call", "probe.echo", "a b", "upper=True", "--out", "json")) == {"value": "A B"}
    assert run("call", "probe.echo", "[1, 2]").stdout == "value:\n    - 1\n    - 2\n"
    assert run("call", "probe.echo", "x", "--out", "yaml").stdout == "value: x\n"


@pytest.mark.feature("F152", "F153")
def test_call_of_something_that_fails_or_does_not_exist(run):
    done = run("call", "probe.broken")
    assert (done.returncode, done.stdout) == (1, "")
    assert "probe.broken raised ZeroDivisionError: division by zero" in done.stderr
    done = run("call", "probe.broken", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert said("bug") not in done.stderr
    done = run("call", "probe.ecko", "x")
    assert done.returncode == 1
    assert "Did you mean 'probe.echo'?" in done.stderr
