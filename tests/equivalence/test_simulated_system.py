"""Any concurrency, any timing: the same system, the same rows."""

from __future__ import annotations

import asyncio

import pytest
from equivalence.model import StateModules, System, host_of
from equivalence.trees_of_model import Tree, trees
from fake_host import run_virtual
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from trees import compiler

from asyncstate.run.engine import Engine, RunOptions

TIMED = ("start_time", "duration")
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


def outcome(tree, plan, *, seed, test=False, **options):
    """Run a plan on a system of its own; return that system and the rows, in their order."""
    system = System(seed)
    host = host_of(system, split=tree.split)

    async def main():
        clock = asyncio.get_running_loop().time
        run = RunOptions(run_id="r", test=test, **options)
        return await Engine(plan, host, run, sleep=asyncio.sleep, clock=clock).run()

    report, _ = run_virtual(main())
    rows = [(tag, {key: value for key, value in row.items() if key not in TIMED}) for tag, row in report.rows.items()]
    return system.snapshot(), rows


def holds(tree, width, seed, *, test, shuffle):
    plan = compiler({}, states=StateModules(), **tree.options).plan_high(tree.high)
    serial_system, serial_rows = outcome(tree, plan, seed=0, test=test)
    assert len(serial_rows) >= len(plan.chunks)
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


@settings(max_examples=250, phases=PHASES)
@given(**RUNS)
def test_every_concurrency_gives_what_a_serial_run_gives(tree, width, seed, test, shuffle):
    holds(tree, width, seed, test=test, shuffle=shuffle)


def test_the_work_of_a_group_is_done_before_what_stands_between_its_members():
    high = {
        "first": {"pkg": ["installed", {"order": 10000}, {"name": "a-p"}], "__sls__": "a", "__env__": "base"},
        "between": {
            "file": ["append", {"order": 10001}, {"name": "/b/b-p.conf"}, {"text": "+"}],
            "__sls__": "b",
            "__env__": "base",
        },
        "second": {"pkg": ["installed", {"order": 10002}, {"name": "b-p"}], "__sls__": "b", "__env__": "base"},
    }
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
        "files": [("file", "managed", "/a/x"), ("probe", "read", "/a/x")],
        "packages": [("pkg", "installed", "a-p"), ("service", "running", "a-d")],
    }
    high = {
        f"s{number}": {module: [function, {"name": name}, {"order": 10000 + number}], "__sls__": "a", "__env__": "base"}
        for number, (module, function, name) in enumerate(calls[conflict])
    }
    plan = compiler({}, states=StateModules(), implicit_order="none").plan_high(high)
    tree = Tree(high, {}, split=False)
    serial = outcome(tree, plan, seed=0)
    assert any(outcome(tree, plan, seed=seed, concurrency=4) != serial for seed in range(8))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=6000, derandomize=False, phases=PHASES)
@given(**RUNS | {"tree": trees(max_size=16)})
def test_thousands_of_trees(tree, width, seed, test, shuffle):
    holds(tree, width, seed, test=test, shuffle=shuffle)
