"""``asyncstate runs diff``: what one run did differently from another."""

from __future__ import annotations

import json
import re

import pytest
from failing_site import Site

from tests.cli.test_runs import TREE, Machine


@pytest.fixture
def machine(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    return Machine(tmp_path, capsys)


def test_a_run_that_does_not_exist_is_named_with_the_nearest(machine):
    run = machine.apply()
    wrong = run[:-1] + ("0" if run[-1] != "0" else "1")
    machine.call("runs", "diff", wrong, code=1)
    assert f"has no run '{wrong}'. Did you mean '{run}'?" in machine.said.err
    machine.call("runs", "diff", "zzz", code=1)
    assert f"has no run 'zzz'. The last one is {run}; asyncstate runs list has all." in machine.said.err


def test_diff_shows_what_differs_and_nothing_else(machine):
    first = machine.apply()
    second = machine.apply(text=TREE.replace("fail_without", "succeed_with").replace("fourth", "fifth"), code=0)
    text = machine.call("runs", "diff")
    assert "Their plans differ." in text
    assert "- test.nop: fourth" in text
    assert "+ test.nop: fifth" in text
    assert "~ test.nop: third\n    result:   held back -> as wanted" in text
    assert not re.search(r"first\n(?!    duration: )", text)  # on a busy machine, its time may differ
    assert machine.call("runs", "diff", first, "latest").splitlines()[3:] == text.splitlines()[3:]
    data = json.loads(machine.call("runs", "diff", second, first, "--out", "json"))
    assert (data["a"]["id"], data["b"]["id"], data["same_plan"], data["same"]) == (second, first, False, 1)
    assert data["removed"][0].startswith("test_|-second")


def test_diff_of_a_run_with_itself_or_without_another(machine):
    run = machine.apply()
    machine.call("runs", "diff", code=1)
    assert "there is only one run" in machine.said.err
    assert "No difference in 4 states." in machine.call("runs", "diff", run, run)


def test_states_that_did_not_start_differ_from_those_that_ran(machine):
    hard = TREE.replace("fail_without_changes: []", "fail_without_changes:\n    - failhard: true")
    machine.apply("-j", "1", text=hard)
    machine.apply("-j", "1")
    assert "~ test.nop: fourth\n    result:   not started -> as wanted" in machine.call("runs", "diff")


@pytest.mark.feature("F221", "F223")
def test_two_runs_of_the_journal_are_compared(tmp_path, run_cli):
    site = Site(tmp_path, run_cli)
    site.call("apply", "web", code=2)
    (real,) = json.loads(site.call("runs", "list", "--out", "json", tree=False).stdout)
    site.mark.touch()
    site.call("apply", "web")
    assert "second" in site.call("runs", "diff", real["id"], "latest", tree=False).stdout


def test_a_command_is_found_in_the_families_that_have_it(run_here):
    assert "There is: asyncstate runs diff, asyncstate show diff" in run_here("diff").stderr
    assert "There is: asyncstate show impact" in run_here("runs", "impact").stderr
