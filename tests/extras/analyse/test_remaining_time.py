"""The remaining time on the display: from the journal, by the states that are the same."""

from __future__ import annotations

import pytest

from asyncstate.config import load_settings
from asyncstate.extras.analyse.remaining_time import RemainingTime
from asyncstate.journal.store import Journal
from tests.cli.test_runs import Machine

TREE = "".join(f"s{number}:\n  cmd.run: [{{name: sleep 0.1}}]\n" for number in range(4))


@pytest.fixture
def machine(tmp_path, capsys):
    return Machine(tmp_path, capsys)


def learnt(machine, run, events=1):
    """What is known when a run of the journal had sent its first events."""
    settings = load_settings([str(machine.config)])
    remaining = RemainingTime(settings)
    journal = Journal.open(settings.state_dir)
    for _, event in zip(range(events), journal.events(run), strict=False):
        remaining.on_event(event)
    remaining.learn()
    return remaining._remaining


def test_the_same_states_take_as_long_as_before(machine):
    machine.apply("-j", "1", text=TREE, code=0)
    run = machine.apply("-j", "2", text=TREE + "new:\n  test.nop: []\n", code=0)
    remaining = learnt(machine, run)
    least, most = remaining.between()
    assert 0.2 <= least <= most < 2
    assert "; 1 state new" in remaining.text()


def test_other_states_tell_nothing_and_nor_does_a_dry_run(machine):
    machine.apply("--test", text=TREE, code=0)
    machine.apply(text="x:\n  test.nop: []\ny:\n  test.nop: []\n", code=0)
    assert learnt(machine, machine.apply(text=TREE, code=0)).between() is None


def test_a_journal_that_cannot_be_read_tells_nothing(machine):
    machine.apply(text=TREE, code=0)
    machine.apply(text=TREE, code=0)
    run = machine.apply(text=TREE, code=0)
    (machine.path / f"state/journal/{run}.plan").write_bytes(b"x" * 10_000)
    assert learnt(machine, run).between() is None


def test_the_display_asks_for_it(machine, monkeypatch):
    machine.apply("-j", "1", text=TREE, code=0)
    texts = []
    monkeypatch.setattr("asyncstate.report.progress._QUIET", 0.0)
    original = RemainingTime.text

    def text(self):
        texts.append(original(self))
        return texts[-1]

    class AtOnce:
        def __init__(self, target, **_more):
            self.start = target

    monkeypatch.setattr(RemainingTime, "text", text)
    monkeypatch.setattr("asyncstate.extras.analyse.remaining_time.Thread", AtOnce)
    machine.apply("-j", "1", "--progress", "live", text="", code=0)
    assert any("from the run of" in each for each in texts)
