"""The way into the rows: nothing changes one afterwards, and nothing secret gets in."""

import asyncio

import pytest
from fake_host import FakeHost, local_engine, row, run
from plans import PlanBuilder

from asyncstate.model.event import ChunkFinished, ChunkRetried, StateEvent
from asyncstate.redact import Secrets
from asyncstate.run.engine import RunOptions


@pytest.fixture
def host():
    fake = FakeHost()

    async def change(name, **_kwargs):
        return row(name, changes={"x": ["s3cret"]})

    async def subs(name):
        low = {"state": "subs", "name": "inner", "fun": "go", "__id__": "inner"}
        return row(name, sub_state_run=[{"changes": {"k": "s3cret"}, "result": True, "comment": "", "low": low}])

    fake.state("test.change", change)
    fake.state("test.subs", subs)
    return fake


def spoil(event):
    for each in (getattr(event, "row", {}), getattr(event, "sub_rows", {})):
        for value in each.values():
            if isinstance(value, dict):
                value["spoilt"] = True
        each["spoilt"] = True


def test_what_an_observer_does_to_an_event_changes_no_row_and_no_other_event(host):
    later = []
    plan = PlanBuilder().chunk("a", "test.change", args={"fire_event": True}).chunk("b", "test.subs").build()
    report, _ = run(plan, host, observers=[spoil, later.append])
    assert "spoilt" not in str(report.rows)
    (fired,) = [event for event in later if isinstance(event, StateEvent)]
    fired.row["again"] = True
    assert "again" not in str([event.row for event in later if isinstance(event, ChunkFinished)])


def test_an_event_is_the_same_when_the_run_is_over(host):
    kept = []

    def keep(event):
        if isinstance(event, (ChunkFinished, StateEvent)):
            kept.append((event, repr(event)))

    plan = PlanBuilder().chunk("a", "test.change", args={"fire_event": "x"}).chunk("b", "test.subs").build()
    run(plan, host, observers=[keep])
    assert len(kept) == 3
    assert all(repr(event) == before for event, before in kept)
    assert "__run_num__" not in str(kept)


def test_rows_of_sub_states_leave_with_their_state(host):
    events = []
    report, _ = run(PlanBuilder().chunk("b", "test.subs").build(), host, observers=[events.append])
    (finished,) = [event for event in events if isinstance(event, ChunkFinished)]
    assert list(finished.sub_rows) == ["subs_|-inner_|-inner_|-go"]
    assert "sub_state_run" not in finished.row
    assert list(report.rows) == [finished.tag, *finished.sub_rows]


def test_secrets_are_hidden_in_rows_of_sub_states_and_in_what_an_attempt_said(host):
    @host.state("test.fails")
    async def fails(name):
        return row(name, result=False, comment="with s3cret")

    events = []
    builder = PlanBuilder().chunk("a", "test.fails", args={"retry": {"attempts": 2, "interval": 1}})
    plan = builder.chunk("b", "test.subs").chunk("c", "test.subs", args={"no_log": True}).build()

    async def main(known):
        async def sleep(_seconds):
            return

        engine = local_engine(plan, host, RunOptions(run_id="r"), [events.append], sleep=sleep, secrets=known)
        return await engine.run()

    report = asyncio.run(main(Secrets(["s3cret"])))
    assert any(isinstance(event, ChunkRetried) for event in events)
    assert "s3cret" not in str([event for event in events if not hasattr(event, "digest")])
    assert "s3cret" not in str(report.rows)
    events.clear()
    asyncio.run(main(Secrets()))
    hidden = [event.sub_rows for event in events if isinstance(event, ChunkFinished) and "-c_" in event.tag]
    assert "s3cret" not in str(hidden)
