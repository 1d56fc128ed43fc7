"""The report of a tree is the same, byte for byte, whatever the concurrency, the hash seed or the event loop."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest
from fake_host import FakeHost, local_engine, row
from tables import beside
from trees import FakeStates, plan

from asyncstate.run.engine import RunOptions

TABLES = beside(__file__)

TREE = TABLES["tree"]
OWN = ("start_time", "duration", "pid")


def untimed(value):
    """A report without what no two runs have in common."""
    if isinstance(value, dict):
        return {key: untimed(item) for key, item in value.items() if key not in OWN}
    return value


@pytest.fixture
def report(run_cli, tmp_path):
    """Apply the tree to an empty folder: ``report("-j", 4, seed=1)``."""
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/t.sls").write_text(TREE)
    pillar = json.dumps({"root": str(tmp_path / "out")})

    def apply(*words, seed=0, out="json", loop="auto"):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        run_cli.environ["PYTHONHASHSEED"] = str(seed)
        run_cli.environ["ASYNCSTATE_EVENT_LOOP"] = loop
        done = run_cli("apply", "t", "--file-root", tmp_path / "salt", "--pillar", pillar, "--out", out, *words)
        assert done.returncode == 2, done.stderr
        return done.stdout

    return apply


@pytest.mark.feature("F130", "F055", "F139")
def test_the_report_is_the_same_for_any_concurrency_hash_seed_and_event_loop(report):
    runs = [
        (("-j", 1), "uvloop"),
        (("-j", 4), "uvloop"),
        (("-j", 64), "uvloop"),
        (("-j", 64), "asyncio"),
        (("-j", 64, "--shuffle", 3), "asyncio"),
    ]
    texts = {
        json.dumps(untimed(json.loads(report(*words, seed=seed, loop=loop)))) for seed, (words, loop) in enumerate(runs)
    }
    assert len(texts) == 1
    assert len(json.loads(texts.pop())) >= 21


def started(lines):
    events = [json.loads(line) for line in lines.splitlines()]
    return [event["tag"] for event in events if event["event"] == "chunk_started"]


def test_a_shuffled_order_is_another_one_and_the_same_again(report):
    serial = started(report("-j", 1, out="jsonl"))
    shuffled = [started(report("-j", 1, "--shuffle", 5, seed=seed, out="jsonl")) for seed in (1, 2)]
    assert shuffled[0] == shuffled[1]
    assert shuffled[0] != serial
    assert sorted(shuffled[0]) == sorted(serial)


def rows_on(loop_factory):
    """The rows of a wide tree of states that wait, on one kind of event loop."""
    host = FakeHost()

    @host.state("test.nop")
    async def nop(name, seconds):
        await asyncio.sleep(seconds)
        return row(name)

    tree = "".join(f"s{n}: {{test.nop: [{{seconds: {n % 3 / 500}}}]}}\n" for n in range(30))
    compiled = plan(tree, states=FakeStates())

    async def main():
        return await local_engine(compiled, host, RunOptions(run_id="r", concurrency=8)).run()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return json.dumps(untimed(runner.run(main()).rows))


def test_asyncio_and_uvloop_give_the_same_report():
    import uvloop

    assert rows_on(uvloop.new_event_loop) == rows_on(asyncio.new_event_loop)
