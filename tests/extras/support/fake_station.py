"""Hosts without plugins: agents on the virtual clock, whose states take time and record their runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from fake_dispatch import FakeDispatch
from fake_host import FakeHost, VirtualLoop, local_engine, row

from asyncstate.errors import CompileError
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.model.event import ChunkFinished, RunFinished
from asyncstate.model.plan import NodeKind
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.engine import Engine, RunOptions
from asyncstate.run.rows import not_run_row


class DictMemory:
    def __init__(self):
        self.kept = {}
        self.fault = None

    async def load(self):
        return dict(self.kept)

    async def save(self, kept):
        if self.fault is not None:
            raise self.fault
        self.kept[kept.offer.run] = kept


class FakeHostOfFleet:
    """A host: its part of the tree, its disk (what its journal and memory keep), and what its states did.

    ``plan`` is a plan, or the issues of a tree that does not compile. ``ran`` lists what ended, by run and ID.
    ``fault`` is what keeps a run from starting.
    """

    def __init__(self, name, plan, outcome_of, seconds=1.0):
        self.name = name
        self.plan = plan
        self.outcome_of = outcome_of
        self.seconds = seconds
        self.memory = DictMemory()
        self.journal = {}
        self.ran = []
        self.trace = []
        self.fault = None
        self.task = None
        self.station = None

    def start(self, server, seal, **more):
        """Start the agent of this host."""
        self.station = FakeStation(self)
        agent = Agent(server.board(self.name), self.name, self.station, self.memory, seal, **more)
        self.task = asyncio.create_task(agent.serve())
        return self.task

    async def kill(self):
        """End the agent at once: nothing more is written, nothing is told."""
        self.station.alive = False
        self.task.cancel()
        await asyncio.wait([self.task])


class FakeStation:
    def __init__(self, host):
        self.host = host
        self.alive = True

    async def grains(self):
        return {"role": self.host.name.rstrip("0123456789")}

    @asynccontextmanager
    async def prepare(self, offer):
        await asyncio.sleep(0.1)
        if not hasattr(self.host.plan, "chunks"):
            raise CompileError(self.host.plan)
        yield FakePrepared(self, offer)


class FakePrepared:
    def __init__(self, station, offer):
        self.station = station
        self.offer = offer
        self.plan = station.host.plan
        self.shown = RedactedPlan(self.plan, Secrets())
        self.lines = station.host.journal.setdefault(offer.run, [])

    unfit = ()

    def can_watch(self, module):
        return True

    async def past_events(self):
        ends = [number for number, event in enumerate(self.lines) if isinstance(event, RunFinished)]
        return self.lines if ends else None

    async def start(self, part, others, observe, *, again):
        if self.station.host.fault is not None:
            raise self.station.host.fault
        ended = {(event.tag, event.check): event for event in self.lines if isinstance(event, ChunkFinished)}
        self.lines.clear()
        journal = []

        def keep(event):
            if self.station.alive:
                journal.append(event)
                # What was carried over is in the journal of the new run from its beginning.
                told = {(each.tag, each.check) for each in journal if isinstance(each, ChunkFinished)}
                self.lines[:] = [each for key, each in ended.items() if key not in told] + journal

        self.lines[:] = list(ended.values())
        dispatch = _Dispatch(self.station, self.offer.run, part.plan, ended)
        options = RunOptions(run_id=f"{self.offer.run} of {self.offer.host}", concurrency=2)
        clock = asyncio.get_running_loop().time
        return _Running(Engine(part.plan, dispatch, options, [keep, observe], clock=clock, elsewhere=others))


class _Running:
    def __init__(self, engine):
        self.engine = engine

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        if error is None:
            await self.engine.run()

    def stop(self, reason):
        self.engine.stop(reason)

    def cancel(self, reason):
        self.engine.cancel(reason)


class _Dispatch(FakeDispatch):
    """Calls what has not ended in the journal."""

    def __init__(self, station, run, plan, ended):
        super().__init__()
        self._station = station
        self._run = run
        self._plan = plan
        self._ended = ended

    async def _row(self, work, chunk):
        host, check = self._station.host, work.kind is NodeKind.CHECK
        ended = self._ended.get((chunk.tag, check))
        if ended is not None and ended.why == work.verdict.value:
            return ended.row
        if not work.verdict.runs:
            failed = [self._plan.chunks[index] for index in work.failed]
            failed += [self._plan.elsewhere[node] for node in work.elsewhere]
            return not_run_row(work.verdict, chunk.name, failed)
        host.trace.append(("start", f"{'check ' if check else ''}{chunk.id}"))
        await asyncio.sleep(host.seconds)
        host.trace.append(("end", f"{'check ' if check else ''}{chunk.id}"))
        host.ran.append((self._run, f"{'check ' if check else ''}{chunk.id}"))
        outcome = host.outcome_of(chunk.id)
        return row(
            chunk.name,
            result=outcome.result,
            changes={"x": 1} if outcome.changed else {},
            **({"skip_req": True} if outcome.skip_req else {}),
        )


def host_of(outcome_of):
    host = FakeHost()

    async def nop(name, test=None):
        await asyncio.sleep(1)
        outcome = outcome_of(name)
        made = row(name, result=outcome.result, changes={"x": 1} if outcome.changed else {})
        return {**made, "skip_req": True} if outcome.skip_req else made

    async def mod_watch(name, sfun=None, **_):
        return row(name, changes={"watched": True})

    host.state("test.nop", nop)
    host.state("test.mod_watch", mod_watch)
    return host


def run_alone(fleet, outcome_of, concurrency=1):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        engine = local_engine(fleet.alone(), host_of(outcome_of), RunOptions(run_id="r", concurrency=concurrency))
        return runner.run(engine.run())


def comparable(rows):
    """Rows without times and numbers; the states to blame in any order."""
    found = {}
    for tag, each in rows.items():
        kept = {key: value for key, value in each.items() if key not in {"start_time", "duration", "__run_num__"}}
        if each["comment"].startswith("One or more requisite failed: "):
            kept["comment"] = sorted(each["comment"].partition(": ")[2].split(", "))
        found[tag] = kept
    return found
