"""Stories: what the history of a machine says of a node is what happened; a machine that stalls ends its run with them."""

from __future__ import annotations

import asyncio
import itertools
import json
import random

import pytest
from fake_dispatch import FakeDispatch
from fake_host import row, run_virtual
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.model.event import ChunkFinished, RunFinished
from asyncstate.model.plan import NodeKind
from asyncstate.run.engine import Engine, RunOptions
from asyncstate.run.machine import Machine, Step
from asyncstate.run.story import MachineStalled, name_of, stalled_nodes, story, story_text
from tests.run.test_machine import CHANGED, FAILED, OK, outcomes, plans


def play(machine, ends, width=1, rng=None, stop_after=None):
    """Work a machine off; return what was handed out and has ended, in the order in which it was told."""
    told, active = [], []
    while not machine.finished:
        if len(told) == stop_after:
            machine.stop("enough")
        while len(active) < width and (work := machine.take()) is not None:
            active.append(work)
            told.append((Step.TAKEN, work.node))
        if not active:
            break
        work = active.pop(rng.randrange(len(active)) if rng else 0)
        told.append((Step.ENDED, work.node))
        machine.done(work.node, ends[work.node])
    return told


@given(plan=plans(), data=st.data(), width=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_the_history_is_what_the_machine_was_told_and_what_that_led_to(plan, data, width, seed):
    ends = [data.draw(outcomes) for _ in plan.nodes]
    machine = Machine(plan)
    told = play(machine, ends, width, random.Random(seed))
    history = list(machine.history())
    assert [(step, node) for step, node in history if step in {Step.TAKEN, Step.ENDED}] == told
    ready = [node for step, node in history if step is Step.READY]
    assert sorted(ready) == sorted(node for step, node in told if step is Step.TAKEN), "each became ready, and once"
    assert all(history.index((Step.READY, node)) < history.index((Step.TAKEN, node)) for node in ready)


def test_who_waited_for_a_lane_when_the_run_was_stopped_is_not_started():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    machine = Machine(plan, lanes={0: ["one"], 1: ["one"]})
    work = machine.take()
    assert machine.take() is None
    machine.stop("enough")
    machine.done(work.node, OK)
    assert [change.after for change in story(machine, 1)] == ["ready", "waits for a lane", "not to be started"]


@given(
    plan=plans(),
    data=st.data(),
    width=st.integers(1, 6),
    seed=st.integers(0, 2**32),
    stop_after=st.none() | st.integers(0, 20),
)
def test_a_story_leads_from_the_start_to_where_the_node_is(plan, data, width, seed, stop_after):
    ends = [data.draw(outcomes) for _ in plan.nodes]
    failhard = data.draw(st.sets(st.integers(0, len(plan.chunks) - 1), max_size=2))
    machine = Machine(plan, failhard=failhard, lanes={0: ["one"], len(plan.chunks) - 1: ["one"]})
    play(machine, ends, width, random.Random(seed), stop_after)
    hard = [node for step, node in machine.history() if step is Step.FAILED_HARD]
    assert all(plan.nodes[node].chunk in failhard and machine.outcomes.of(node) == FAILED for node in hard)
    assert bool(hard) == any(
        machine.outcomes.of(node) == FAILED and what.chunk in failhard and what.kind is not NodeKind.CHECK
        for node, what in enumerate(plan.nodes)
    )
    for node, what in enumerate(plan.nodes):
        changes = story(machine, node)
        assert changes[0].stimulus == "start"
        numbers = [change.number for change in changes]
        assert numbers == sorted(numbers)
        assert all(one.after == two.before for one, two in itertools.pairwise(changes))
        assert all(change.before != change.after for change in changes)
        states, outcome = [change.after for change in changes], machine.outcomes.of(node)
        if what.kind in {NodeKind.SET, NodeKind.STAGE}:
            assert ("passed" in states) == (outcome is not None)
        elif outcome is None:
            assert "running" not in states
            assert states[-1] == "not to be started" or what.kind is NodeKind.LISTENER
        else:
            assert states.index("ready") < states.index("running")
            assert states[-1].startswith(str(outcome.result))
            assert states[-1].endswith("changes") == outcome.changed


def test_a_story_says_what_made_each_change():
    builder = PlanBuilder().chunk("conf").chunk("user").chunk("web", watch=["conf"], require=["user"])
    machine = Machine(builder.chunk("last", prereq=["web"]).listen("conf", "web").build(), lanes={1: ["x"], 0: ["x"]})
    play(machine, [CHANGED, OK, CHANGED, OK, CHANGED, OK], width=2)
    assert story_text(machine, 2).splitlines() == [
        "s:web",
        "        0  start: waits for 3: s:conf (watch), s:user (require), s:last (prerequired)",
        "        2  s:conf ended: waits for 2",
        "        4  s:user ended: waits for 1",
        "        8  s:last ended: ready",
        "        9  taken: running",
        "       10  ended: True, with changes",
    ]
    assert [change.after for change in story(machine, 1)] == [
        "ready",
        "waits for a lane",
        "ready",
        "running",
        "True",
    ]
    assert story_text(machine, 5).splitlines()[0] == "listener of s:conf"
    assert name_of(machine.plan, 4) == "check of s:web"


def test_a_story_says_what_ended_the_run_before_the_node_could_start():
    plan = PlanBuilder().chunk("bad").chunk("next").chunk("later", require=["next"]).set("both", "bad", "next").build()
    machine = Machine(plan, failhard={0})
    machine.done(machine.take().node, FAILED)
    assert [change.after for change in story(machine, 0)] == ["ready", "running", "False"]
    assert story_text(machine, 2).splitlines()[1:] == [
        "        0  start: waits for 1: s:next (require)",
        "        3  s:bad failed hard: not to be started",
        "           never ended: s:next (require)",
    ]
    stopped = Machine(plan)
    stopped.stop("SIGINT")
    last = story(stopped, 1)[-1]
    assert (last.stimulus, last.before, last.after) == ("stopped (SIGINT)", "ready", "not to be started")


# a machine that stalls: mutants that a test should never have let through


class Forgetful(Machine):
    """Does not free what waited for ``bad``."""

    def done(self, node, outcome):
        if self.plan.nodes[node].chunk != 0:
            return super().done(node, outcome)
        self.running.discard(node)
        self.outcomes.put(node, outcome)
        return []


class Stubborn(Machine):
    """Takes it that something exclusive runs, for ever."""

    def done(self, node, outcome):
        released = super().done(node, outcome)
        self._alone = True
        return released


class Leaky(Machine):
    """Never gives back a place in a lane."""

    def _leave_lanes(self, node):
        pass


class Unready(Machine):
    """Has nothing to begin with."""

    def _release(self, node, released=None):
        pass


def engine_of(machine, observers=(), **options):
    dispatch = FakeDispatch()

    @dispatch.state("test.nop")
    async def nop(name):
        return row(name, changes={"x": 1})

    in_lane = {"lane": "one"}
    builder = PlanBuilder().chunk("bad", args=in_lane).chunk("next", require=["bad"], args=in_lane)
    plan = builder.chunk("other", args=in_lane).chunk("end", require=["next"]).build()
    clock = asyncio.get_running_loop().time
    engine = Engine(plan, dispatch, RunOptions(run_id="r", **options), observers, clock=clock)
    engine.machine = machine
    return engine


@pytest.mark.parametrize("machine", [Forgetful, Stubborn, Leaky, Unready])
@pytest.mark.parametrize("width", [1, 2, 8])
def test_a_stalled_machine_ends_its_run_with_stories_and_the_rows_so_far(machine, width):
    events = []

    async def main():
        engine = engine_of(machine, observers=[events.append], concurrency=width)
        with pytest.raises(MachineStalled, match="nothing runs, and") as stalled:
            await engine.run()
        return engine.report, stalled.value

    (report, error), seconds = run_virtual(main())
    assert seconds < 1
    assert report.cancelled == "the scheduler stalled"
    assert report.exit_code == 70
    ended = {event.tag for event in events if isinstance(event, ChunkFinished)}
    assert set(report.rows) == ended
    assert all(report.rows[tag]["result"] is True for tag in ended)
    assert len(report.not_started) == 4 - len(ended) > 0
    assert isinstance(events[-1], RunFinished)
    assert events[-1].exit_code == 70
    assert len(error.__notes__) == len(report.not_started)
    assert any(note.startswith("s:end\n        0  start: waits for 1: s:next (require)") for note in error.__notes__)


def test_the_story_that_explains_the_others_comes_first():
    machine = Forgetful(PlanBuilder().chunk("bad").chunk("zz", require=["next"]).chunk("next", require=["bad"]).build())
    machine.done(machine.take().node, OK)
    assert machine.stalled
    assert stalled_nodes(machine) == [2, 1]


def test_of_many_stories_some_are_told():
    builder = PlanBuilder().chunk("bad")
    for number in range(50):
        builder.chunk(f"c{number}", require=["bad"])
    machine = Forgetful(builder.build())
    machine.done(machine.take().node, OK)
    notes = MachineStalled(machine, str).__notes__
    assert len(notes) == 21
    assert notes[-1] == "and 30 more"


def test_stories_show_no_secret():
    machine = Forgetful(PlanBuilder().chunk("bad").chunk("hunter2", require=["bad"]).build())
    machine.done(machine.take().node, OK)
    error = MachineStalled(machine, lambda text: text.replace("hunter2", "***"))
    assert "hunter2" not in "".join(error.__notes__)
    assert "***" in error.__notes__[0]


@given(plan=plans(), data=st.data(), width=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_a_machine_that_is_right_never_stalls(plan, data, width, seed):
    ends = [data.draw(outcomes) for _ in plan.nodes]
    machine = Machine(plan)
    assert machine.stalled or not plan.chunks or machine.ready, "before the first is taken something is left"
    play(machine, ends, width, random.Random(seed))
    assert not machine.stalled


@pytest.mark.parametrize("out", ["human", "json", "jsonl"])
def test_the_command_line_says_it_is_a_bug_and_what_had_ended(tmp_path, monkeypatch, capsys, out):
    from asyncstate.cli import main

    monkeypatch.setattr("asyncstate.run.engine.Engine.machine", Forgetful)
    (tmp_path / "web.sls").write_text(
        "bad: {test.succeed_with_changes: []}\nnext: {test.nop: [{require: [{test: bad}]}]}\n"
    )
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    code = main(["apply", "web", "--file-root", str(tmp_path), "-j", "2", "--out", out])
    output, errors = capsys.readouterr()
    assert code == 70
    assert "internal error: MachineStalled: the scheduler stalled: nothing runs, and 1 nodes" in errors
    assert "never" not in output
    assert "web:next" in errors
    assert "start: waits for 1: web:bad" in errors
    assert "ended with changes" in errors or "bad" in errors
    if out == "jsonl":
        finished = json.loads(output.splitlines()[-1])
        assert finished["exit_code"] == 70
