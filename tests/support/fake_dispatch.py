"""A dispatcher without plugins: a test says in a function what each chunk does. See `asyncstate.run.dispatch`."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

from fake_host import row

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import INTERNAL_KEYWORDS
from asyncstate.run.dispatch import Findings, ModuleTraits
from asyncstate.run.gate import Verdict
from asyncstate.run.rows import exception_row, normalise, not_run_row

_OF_THE_SCHEDULER = {*INTERNAL_KEYWORDS, "exclusive", "lane", "sfun"}


class FakeDispatch:
    """Awaits ``functions["module.function"](name, **arguments)`` for a chunk; ``test.nop`` is there.

    ``test`` is given to functions that ask for it: whether this call is a dry run. ``log`` has what was called, in
    order; ``groups`` the members of groups. ``supervisor`` and ``rows`` are what the scheduler gave.
    """

    def __init__(self, *, test=False, **functions):
        self.functions = {"test.nop": self._nop, **{name.replace("__", "."): func for name, func in functions.items()}}
        self.traits = {}
        self.test = test
        self.log = []
        self.groups = []
        self.notices, self.warnings = [], []
        self.supervisor = self.rows = self.plan = None

    async def _nop(self, name):
        return row(name)

    def state(self, name, func=None):
        """Register what a state function does, also as a decorator."""
        if func is None:
            return lambda func: self.state(name, func)
        self.functions[name] = func
        return func

    def module(self, name, **traits):
        """Say what a state module declares."""
        self.traits[name] = ModuleTraits(**traits)

    def module_traits(self):
        return self.traits

    def findings(self):
        return Findings(self.notices, self.warnings)

    @contextmanager
    def begin(self, supervisor, rows, elsewhere):
        self.supervisor, self.rows = supervisor, rows
        yield

    async def run_chunk(self, work, chunk):
        made = await self._row(work, chunk)
        return {**made, "start_time": "00:00:00.000000", "duration": 0.0, "__id__": chunk.id, "__sls__": chunk.sls}

    async def _row(self, work, chunk):
        if not work.verdict.runs:
            return not_run_row(work.verdict, chunk.name, [])
        check = work.kind is NodeKind.CHECK
        made = await self._call(chunk, chunk.function, check=check)
        if work.verdict is Verdict.CHANGE and not check and not made["changes"]:
            made = await self._call(chunk, f"{chunk.state}.mod_watch", check=False)
        return made

    async def _call(self, chunk, name, *, check):
        self.log.append(f"{chunk.name} watched" if name.endswith(".mod_watch") else chunk.name)
        arguments = {key: value for key, value in chunk.args.items() if key not in _OF_THE_SCHEDULER}
        function = self.functions[name]
        if "test" in function.__code__.co_varnames:
            arguments["test"] = self.test or check
        try:
            returned = await function(chunk.name, **arguments)
        except Exception as error:  # noqa: BLE001 - a dispatcher is total
            return exception_row(chunk.name, error)
        return normalise(returned, chunk.name)

    async def aggregate(self, members):
        self.groups.append(members)


def usual_fakes():
    """States that wait, fail, change and watch; ``log`` also has when those that wait end."""
    fake = FakeDispatch()

    @fake.state("test.change")
    async def change(name, test):
        return row(name, result=None if test else True, changes={"x": 1})

    @fake.state("test.fail")
    async def fail(name):
        return row(name, result=False)

    @fake.state("test.wait")
    async def wait(name, seconds):
        await asyncio.sleep(seconds)
        fake.log.append(f"{name} ends")
        return row(name)

    @fake.state("test.mod_watch")
    async def mod_watch(name):
        return row(name, changes={"restarted": True})

    return fake
