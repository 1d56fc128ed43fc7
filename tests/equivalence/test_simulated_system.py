"""Any concurrency, any timing: the same system, the same rows."""

from __future__ import annotations

import asyncio

import pytest
from fake_host import local_engine, run_virtual
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from reached import reach
from simulated_system import StateModules, System, host_of
from simulated_trees import Tree, trees
from tables import beside
from trees import compiler

from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.run.engine import RunOptions

TABLES = beside(__file__)

TIMED = ("start_time", "duration")
QUICK = (Phase.explicit, Phase.generate)
THOROUGH = (*QUICK, Phase.shrink)


class Witness:
    """Observes a run: what started and what ended, in order; ``at(number)`` does something at one of its events."""

    def __init__(self):
        self.events = []
        self.interfere = {}

    def __call__(self, event):
        self.events.append(event)
        act = self.interfere.get(len(self.events))
        if act is not None:
            act()

    def started(self):
        return [event.tag for event in self.events if isinstance(event, ChunkStarted) and not event.check]

    def ended(self):
        return [event.tag for event in self.events if isinstance(event, ChunkFinished) and not event.check]


def needs(plan):
    """By tag, the tags of all chunks that must have ended before it."""
    found = {}
    for chunk in plan.chunks:
        reached = reach(plan.dag, plan.dag.predecessors(chunk.index), forward=False)
        found.setdefault(chunk.tag, set()).update(plan.chunks[node].tag for node in reached if node < len(plan.chunks))
    return found


def respects_every_edge(plan, events):
    needed, ended = needs(plan), set()
    for event in events:
        if isinstance(event, ChunkStarted) and not event.check and event.tag in needed:
            assert needed[event.tag] <= ended
        elif isinstance(event, ChunkFinished) and not event.check:
            ended.add(event.tag)


def compiled(tree):
    return compiler({}, states=StateModules(), **tree.options).plan_high(tree.high)


def run(tree, plan, *, seed, test=False, interfere=None, **options):
    """Run a plan on a system of its own; return that system, the report, and who watched."""
    system, witness = System(seed), Witness()
    host = host_of(system, split=tree.split)

    async def main():
        clock = asyncio.get_running_loop().time
        chosen = RunOptions(run_id="r", test=test, **options)
        engine = local_engine(plan, host, chosen, (witness,), sleep=asyncio.sleep, clock=clock)
        if interfere is not None:
            interfere(engine, witness)
        return await engine.run()

    report, _ = run_virtual(main())
    return system, report, witness


def rows_of(report, *, without=TIMED):
    return [(tag, {key: value for key, value in row.items() if key not in without}) for tag, row in report.rows.items()]


def outcome(tree, plan, **options):
    system, report, witness = run(tree, plan, **options)
    respects_every_edge(plan, witness.events)
    return system.snapshot(), rows_of(report)


def holds(tree, width, seed, *, test, shuffle):
    plan = compiled(tree)
    serial_system, serial_rows = outcome(tree, plan, seed=0, test=test)
    assert len(serial_rows) >= len({chunk.tag for chunk in plan.chunks})
    for options in ({"concurrency": width, "seed": seed}, {"concurrency": width, "seed": seed + 1, "shuffle": shuffle}):
        system, rows = outcome(tree, plan, test=test, **options)
        assert rows == serial_rows
        assert system == serial_system


RUNS = {
    "tree": trees(),
    "width": st.integers(2, 12),
    "seed": st.integers(0, 2**16),
    "test": st.sampled_from((False, False, False, True)),
    "shuffle": st.integers(0, 2**16),
}


@pytest.mark.timeout(300)
@settings(max_examples=100, phases=QUICK)
@given(**RUNS)
def test_every_concurrency_gives_what_a_serial_run_gives(tree, width, seed, test, shuffle):
    holds(tree, width, seed, test=test, shuffle=shuffle)


def test_the_work_of_a_group_is_done_before_what_stands_between_its_members():
    high = TABLES["the work of a group is done before what stands between its members"]
    for seed in range(8):
        holds(
            Tree(high, {"state_aggregate": True, "implicit_order": "footprint"}, split=True),
            4,
            seed,
            test=False,
            shuffle=seed,
        )


@pytest.mark.parametrize("conflict", ["files", "packages"])
def test_a_missing_edge_is_noticed(conflict):
    calls = {
        "files": [("file", "managed", "/etc/a/x"), ("probe", "read", "/etc/a/x")],
        "packages": [("pkg", "installed", "a-p"), ("service", "running", "a-d")],
    }
    high = {
        f"s{number}": {module: [function, {"name": name}, {"order": 10000 + number}], "__sls__": "a", "__env__": "base"}
        for number, (module, function, name) in enumerate(calls[conflict])
    }
    tree = Tree(high, {"implicit_order": "none"}, split=False)
    plan = compiled(tree)
    serial = outcome(tree, plan, seed=0)
    assert any(outcome(tree, plan, seed=seed, concurrency=4) != serial for seed in range(8))


UNNUMBERED = (*TIMED, "__run_num__")


def is_part_of_a_serial_run(tree, plan, report, witness, *, cancelled=()):
    """Whether what is in a report is what a serial run has there, and all that it depends on is there too."""
    _, whole, _ = run(tree, plan, seed=0)
    serial = dict(rows_of(whole, without=UNNUMBERED))
    tags, needed = {chunk.tag for chunk in plan.chunks}, needs(plan)
    rows = dict(rows_of(report, without=UNNUMBERED))
    listening = {plan.chunks[node.chunk].as_listener().tag for node in plan.listeners}
    assert tags - rows.keys() == set(report.not_started) - listening
    assert not listening & set(report.not_started) & rows.keys()
    started = set(witness.started())
    for tag in tags & rows.keys():
        # What a check held back has its row before the rest of what it waits for.
        assert tag not in started or needed[tag] <= rows.keys() - cancelled
        assert tag in cancelled or rows[tag] == serial[tag]
    assert [row["__run_num__"] for row in report.rows.values()] == list(range(len(rows)))
    respects_every_edge(plan, witness.events)


def fails_hard(tree, width, seed, shuffle):
    plan = compiled(tree)
    _, report, witness = run(tree, plan, seed=seed, concurrency=width, shuffle=shuffle, failhard=True)
    is_part_of_a_serial_run(tree, plan, report, witness)
    ends = [
        isinstance(event, ChunkFinished) and event.row["result"] is False and not event.check
        for event in witness.events
    ]
    if True in ends:
        after = witness.events[ends.index(True) :]
        assert not any(isinstance(event, ChunkStarted) and not event.id.startswith("listener_") for event in after)
    else:
        assert report.failed or not report.not_started


PARTIAL = {"tree": trees(), "width": st.integers(1, 8), "seed": st.integers(0, 2**16)}


@pytest.mark.timeout(300)
@settings(max_examples=50, phases=QUICK)
@given(**PARTIAL, shuffle=st.none() | st.integers(0, 99))
def test_after_a_hard_failure_nothing_starts_and_what_ran_is_as_in_a_serial_run(tree, width, seed, shuffle):
    fails_hard(tree, width, seed, shuffle)


def is_cut_short(tree, width, seed, at, *, kill):
    plan = compiled(tree)

    def interfere(engine, witness):
        witness.interfere[at] = (lambda: engine.cancel("SIGTERM")) if kill else (lambda: engine.stop("SIGINT"))

    _, report, witness = run(tree, plan, seed=seed, concurrency=width, interfere=interfere)
    cancelled = {tag for tag, row in report.rows.items() if "cancelled while it ran" in str(row["comment"])}
    until = Witness()
    until.events = witness.events[:at]
    assert cancelled <= (set(until.started()) - set(until.ended()) if kill else set())
    assert sorted(witness.started()) == sorted(witness.ended())
    if at < len(witness.events):
        assert report.cancelled == ("SIGTERM" if kill else "SIGINT")
        assert not report.ok
    given_up = {tag for tag, row in report.rows.items() if "was stopped before attempt" in str(row["comment"])}
    assert not given_up & cancelled
    is_part_of_a_serial_run(tree, plan, report, witness, cancelled=cancelled | given_up)


@pytest.mark.timeout(300)
@settings(max_examples=50, phases=QUICK)
@given(**PARTIAL, at=st.integers(1, 40), kill=st.booleans())
def test_a_run_cut_short_at_any_event_leaves_a_true_report(tree, width, seed, at, kill):
    is_cut_short(tree, width, seed, at, kill=kill)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=6000, derandomize=False, phases=THOROUGH)
@given(**RUNS | {"tree": trees(max_size=16)})
def test_thousands_of_trees(tree, width, seed, test, shuffle):
    holds(tree, width, seed, test=test, shuffle=shuffle)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=2000, derandomize=False, phases=THOROUGH)
@given(**PARTIAL | {"tree": trees(max_size=14)}, at=st.integers(0, 70), kill=st.booleans())
def test_thousands_of_runs_cut_short(tree, width, seed, at, kill):
    if at:
        is_cut_short(tree, width, seed, at, kill=kill)
    else:
        fails_hard(tree, width, seed, None)
