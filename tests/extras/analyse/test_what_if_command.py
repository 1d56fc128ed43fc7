"""``asyncstate what-if``: a recorded run with other numbers of states at once."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.test_runs import Machine, _spoil

TREE = """
one:
  cmd.run: [{name: sleep 0.2}, {lane: slow}]
two:
  cmd.run: [{name: sleep 0.2}, {lane: slow}]
three:
  test.nop:
    - require: [{cmd: one}]
four:
  test.nop:
    - require: [{test: three}]
"""


@pytest.fixture
def machine(tmp_path, capsys):
    machine = Machine(tmp_path, capsys)
    machine.apply("-j", "2", text=TREE, code=0)
    return machine


def test_the_answer_for_people(machine):
    text = machine.call("what-if")
    assert text.startswith("4 states: ")
    assert "(simulated: " in text
    slots = [line.split()[0] for line in text.split("\n\n")[1].splitlines()]
    assert slots[:3] == ["Slots", "1", "2"]
    assert slots[-1] == "64"
    assert "  as recorded" in text
    assert re.search(r"^ +\S+ m?s  cmd.run: (one|two)", text, re.MULTILINE)  # whichever took longer


def test_the_answer_for_programs(machine):
    data = json.loads(machine.call("what-if", "-j", "1,2..4", "--out", "json"))
    assert [point["slots"] for point in data["points"]] == [1, 2, 3, 4]
    assert data["points"][0]["seconds"] == pytest.approx(data["work"])
    assert 0.4 <= data["simulated"] <= data["wall"] * 1.01  # the machine is between two states, too


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("0", "'0' is not within 1..1024"),
        ("8..2", "'8..2' is not within 1..1024, from the lower to the higher"),
        ("1..100000", "is not within 1..1024"),
        ("all", "'all' is no number of slots: 8, or several: 1..64 or 1,2,4"),
        ("", "is no number of slots"),
    ],
)
def test_slots_that_are_none_are_refused_before_anything_is_read(machine, spec, message):
    machine.call("what-if", "-j", spec, code=1)
    assert message in machine.said.err


def test_a_row_that_is_damaged_is_an_error_that_names_run_and_line(tmp_path, capsys):
    machine = Machine(tmp_path, capsys)
    run = machine.apply()
    _spoil(machine, b'"result":false,', b"")
    machine.call("what-if", code=1)
    wrong = rf"the journal of run {run} is damaged, line \d+: the row of test_\|-\S+: it has no `result`"
    assert re.search(wrong, machine.said.err + machine.said.out)
