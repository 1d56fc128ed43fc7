"""Resuming in a program: what counts as the same, chains of runs, secrets, cancelled states, common calls."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest
from messages import said

from asyncstate import Settings, StateRuntime
from asyncstate.errors import JournalError, ResumeRefused
from asyncstate.journal.entry import is_event
from asyncstate.journal.store import Journal
from asyncstate.model.event import ChunkFinished, ChunkStarted, encode_event
from asyncstate.redact import Secrets
from asyncstate.resume.earlier_runs import EarlierRuns, Ended, Unknown

CHAIN = {
    "a": {"here.step": []},
    "b": {"here.step": [{"require": [{"here": "a"}]}]},
    "c": {"here.step": [{"watch": [{"here": "b"}]}]},
}


class Here:
    """A machine whose states are functions of the test: what was called, and where the process dies."""

    def __init__(self, tmp_path):
        self.calls = []
        self.settings = Settings(
            state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True, prefetch=False
        )
        self.pillar = {}

    def step(self, name, **_kwargs):
        self.calls.append(name)
        return {"name": name, "changes": {name: 1}, "result": True, "comment": f"did {name}"}

    async def run(self, data=CHAIN, *, secrets=None, observers=(), **options):
        self.calls.clear()
        self.settings.pillar = self.pillar
        runtime = StateRuntime(self.settings, states={"here.step": self.step}, secrets=secrets)
        async with runtime:
            plan = await runtime.compile_data(data)
            async with runtime.run(plan, observers=observers, events=False, **options) as run:
                pass
        return run.report

    def keep_only(self, events):
        """Cut the log of the last run after N events, as if it had died there."""
        journal = Journal.open(self.settings.state_dir)
        entry = journal.runs()[0]
        lines = list(journal.lines(entry.id))
        kept = [line for line in lines[:-1] if not is_event(line)] + [line for line in lines if is_event(line)][:events]
        path = Path(self.settings.state_dir, "journal", f"{entry.id}.ended")
        path.write_bytes(b"".join(line + b"\n" for line in kept))
        path.rename(path.with_suffix(".log"))
        return entry.id


@pytest.fixture
def here(tmp_path):
    return Here(tmp_path)


def timeless(report):
    return {
        tag: {key: value for key, value in row.items() if key not in {"start_time", "duration"}}
        for tag, row in report.rows.items()
    }


async def test_what_ended_keeps_its_row_and_its_times(here):
    alone = await here.run(concurrency=1)
    run = here.keep_only(4)  # a ended, b started
    again = await here.run(concurrency=1, resume="latest")
    assert here.calls == ["b", "c"]
    tag = next(iter(alone.rows))
    assert again.rows[tag] == alone.rows[tag]
    rows = timeless(again)
    b = next(key for key in rows if key.startswith("here_|-b"))
    assert rows[b].pop("comment") == "did b\n" + said("ran-again", run=run)
    assert rows == timeless(alone) | {b: rows[b]}


async def test_a_resumed_run_that_is_killed_is_resumed_again(here):
    alone = await here.run(concurrency=1)
    here.keep_only(3)
    await here.run(concurrency=1, resume="latest")
    here.keep_only(1)  # it had carried a over, and done nothing more
    again = await here.run(concurrency=1, resume="latest")
    assert here.calls == ["b", "c"]
    assert timeless(again) == timeless(alone)


async def test_a_state_that_does_not_end_is_run_again_with_what_waited_for_it(here, monkeypatch):
    monkeypatch.setattr("asyncstate.run.chunk.time_limit.GRACE", 0.05)
    data = {**CHAIN, "a": {"here.step": [{"timeout": 0.05}]}, "free": {"here.step": []}}
    gate, step = threading.Event(), here.step

    def hangs(name, **kwargs):
        if name == "a":
            gate.wait(120)
        return step(name, **kwargs)

    here.step = hangs
    held_up = await here.run(data)
    assert held_up.exit_code == 2
    assert here.calls == ["free"]
    gate.set()
    again = await here.run(data, resume="latest")
    assert {*here.calls} - {"a"} == {"b", "c"}, "the thread of the first run may end only now"
    assert again.ok
    first = next(row for tag, row in again.rows.items() if tag.startswith("here_|-a"))
    assert first["comment"] == "did a\n" + said("ran-again", run=held_up.run_id)


@pytest.mark.parametrize("resume", ["latest", None])
async def test_a_run_that_ended_is_not_resumed(here, resume):
    run = (await here.run()).run_id
    with pytest.raises(ResumeRefused, match=said("nothing-to-resume")):
        await here.run(resume=resume or run[:6])
    with pytest.raises(JournalError, match="has no run 'zzz'"):
        await here.run(resume="zzz")
    assert here.calls == []


async def test_it_names_what_differs_and_force_carries_the_rest_over(here):
    await here.run(concurrency=1)
    here.keep_only(5)  # a and b ended
    changed = {**CHAIN, "a": {"here.step": [{"size": "a2"}]}}
    here.pillar = {"port": 80}
    with pytest.raises(ResumeRefused) as refused:
        await here.run(changed, resume="latest")
    assert "a2" in str(refused.value)
    assert "port" in str(refused.value)
    assert here.calls == []
    await here.run(changed, concurrency=1, resume="latest", force=True)
    assert here.calls == ["a", "c"]


async def test_secrets_are_not_in_the_journal_and_do_not_matter(here):
    secrets = Secrets()
    secrets.add("hunter22")
    data = {"x hunter22": {"here.step": []}, "y": {"here.step": [{"watch": [{"here": "x hunter22"}]}]}}
    alone = await here.run(data, secrets=secrets, concurrency=1)
    here.keep_only(3)
    again = await here.run(data, secrets=secrets, concurrency=1, resume="latest")
    assert here.calls == ["y"]
    assert timeless(again) == timeless(alone)
    journal = Journal.open(here.settings.state_dir)
    assert not [line for entry in journal.runs() for line in journal.lines(entry.id) if b"hunter22" in line]


async def test_a_cancelled_state_is_run_again(here):
    async def wait(name, **_kwargs):
        here.calls.append(name)
        began.set()
        if len(waits) == 1:
            await asyncio.sleep(60)
        return {"name": name, "changes": {}, "result": True, "comment": ""}

    waits, began = [1], asyncio.Event()
    here.step = wait

    async def cancelled():
        runtime = StateRuntime(here.settings, states={"here.step": here.step})
        async with runtime:
            plan = await runtime.compile_data({"a": {"here.step": []}})
            async with runtime.run(plan, events=False) as run:
                await began.wait()
                run.cancel("enough")
        return run.report

    report = await cancelled()
    assert "its effect is unknown" in next(iter(report.rows.values()))["comment"]
    waits.append(2)
    again = await here.run({"a": {"here.step": []}}, resume="latest")
    (row,) = again.rows.values()
    assert row["result"] is True
    assert said("began-before") in row["comment"]


def test_the_past_of_a_chain():
    row = {"name": "n", "result": True, "changes": {}, "comment": ""}
    started = {"function": "f", "id": "i", "name": "n", "sls": "s"}
    past = EarlierRuns.of(
        "r",
        [
            msgspec.json.encode(Ended("a", False, row, "met")),
            msgspec.json.encode(Unknown("b", False, 3.0)),
            b"{torn",
            encode_event(ChunkStarted(run_id="r", seq=0, time=0, tag="a", **started)),
            encode_event(ChunkStarted(run_id="r", seq=1, time=0, tag="c", **started)),
            encode_event(ChunkFinished(run_id="r", seq=2, time=0, tag="d", row=row, why="met")),
        ],
    )
    assert set(past.ended) == {("a", False), ("d", False)}
    assert set(past.unknown) == {("b", False), ("c", False)}
