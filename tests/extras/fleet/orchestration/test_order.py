"""Orchestrations in the order in which Salt runs them: recorded (`record_orchestrations`), with stand-ins for the steps."""

import json
from itertools import pairwise

import pytest
from record_orchestrations import RECORDED, STEPS

from asyncstate import Settings, StateRuntime
from asyncstate.extras.analyse.explain import explanation
from asyncstate.model.walk import Walk

RECORDINGS = json.loads(RECORDED.read_text())


async def run(folder, sls, **options):
    """Run an orchestration, with as many slots as `fleet orchestrate` has; return what its steps wrote."""
    tree = folder / "tree"
    (tree / "_states").mkdir(parents=True)
    (tree / "_states" / "salt.py").write_text(STEPS)
    (tree / "orch.sls").write_text(sls)
    log = folder / "log"
    log.touch()
    settings = Settings(
        file_roots={"base": [str(tree)]},
        state_dir=str(folder / "state"),
        cachedir=str(folder / "cache"),
        pillar={"log": str(log), "quick": 0.01, "slow": 0.2},
        concurrency=64,
        **options,
    )
    async with StateRuntime(settings) as runtime, runtime.run(await runtime.compile(["orch"]), lock=False):
        pass
    return log.read_text().splitlines()


def is_beside(line):
    """Whether a line is of a step with ``parallel: True``."""
    return line.split()[1:2] == ["beside"]


@pytest.mark.parametrize("name", RECORDINGS)
async def test_steps_run_in_the_order_of_salt(tmp_path, name):
    recorded = RECORDINGS[name]
    written = await run(tmp_path, recorded["sls"])
    assert [line for line in written if not is_beside(line)] == [
        line for line in recorded["log"] if not is_beside(line)
    ]
    assert sorted(written) == sorted(recorded["log"])


async def test_a_parallel_step_begins_at_its_place_and_later_ones_do_not_wait_for_it(tmp_path):
    written = await run(tmp_path, RECORDINGS["steps beside others"]["sls"])
    at = {line: place for place, line in enumerate(written)}
    assert at["end master"] < min(at["begin beside zeroize x"], at["begin sleep x"])
    assert at["end sleep x"] < at["begin beside zeroize y"]
    assert at["begin sleep y"] < at["end beside zeroize x"], "nobody waits for it without a requisite"
    assert max(at["end beside zeroize x"], at["end beside zeroize y"]) < at["begin provision"]
    assert at["begin finish"] < at["end beside cleaning"]


async def test_requisites_alone_order_the_steps_if_one_says_so(tmp_path):
    steps = "".join(f"beside {each}: {{salt.runner: [{{name: test.arg}}]}}\n" for each in "abc")
    written = await run(tmp_path, steps, implicit_order="none")
    assert [line.split()[0] for line in written] == ["begin"] * 3 + ["end"] * 3


@pytest.mark.parametrize("name", RECORDINGS)
async def test_each_command_that_compiles_shows_the_order_in_which_the_steps_run(tmp_path, name):
    """A step waits for the steps that end before it begins, whatever the setting, unless that is `none`."""
    (tmp_path / "orch.sls").write_text(RECORDINGS[name]["sls"])
    for mode in ("footprint", "strict", "file"):
        settings = Settings(
            file_roots={"base": [str(tmp_path)]}, pillar={"log": "/x", "quick": 0, "slow": 0}, implicit_order=mode
        )
        async with StateRuntime(settings) as runtime:
            plan = await runtime.compile(["orch"])
        one_by_one = [chunk.index for chunk in plan.chunks if chunk.args.get("parallel") is not True]
        for before, after in pairwise(one_by_one):
            walk = Walk(plan)
            assert before in walk.before(*plan.calls_of(after)), (mode, plan.chunks[after].id)
            told = explanation(plan, after)
            assert told["requisites"] or told["waits_for"]
