"""A run never holds the event loop of its program for longer because its tree is larger."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.run import worker_pool
from asyncstate.run.engine import Engine
from asyncstate.run.machine import Machine

FEW, MANY = 100, 800


def requires(kind, *numbers):
    """Return the arguments of a state that requires or watches others."""
    return f"[{{{kind}: [{', '.join(f'{{test: s{number}}}' for number in numbers)}]}}]"


SHAPES = {
    "wide": lambda _number, _count: "test.nop: []",
    "layers": lambda number, _count: f"test.nop: {requires('require', *range(max(0, number - 12), number - 9))}",
    "fan in": lambda number, count: f"test.nop: {[] if number else requires('require', *range(1, count))}",
    "fan out": lambda number, _count: f"test.nop: {requires('require', 0) if number else []}",
    "watch": lambda number, _count: (
        f"test.nop: {requires('watch', number - 1)}" if number % 2 else "test.succeed_with_changes: []"
    ),
}
"""The function and arguments of a state, by its number and the number of states."""
A_STATE = {"fan in": 140, "fan out": 100}
"""Instructions for each requisite of one state, and for each state that requires one: these are handled in one go."""


class Steps:
    """Counts the byte code instructions of each callback of a loop, by function; keeps those of the longest one."""

    def __init__(self):
        self._now = Counter()
        self.longest = Counter()

    def _count(self, frame, event, _argument):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self._now[frame.f_code.co_qualname] += 1
        return self._count

    def counted(self, run):
        def counted_run(handle):
            self._now = Counter()
            sys.settrace(self._count)
            try:
                run(handle)
            finally:
                sys.settrace(None)
                self.longest = max(self.longest, self._now, key=Counter.total)

        return counted_run


@pytest.fixture(scope="module")
def longest(tmp_path_factory):
    """Return the instructions of the longest callback in a compilation and a run, and where it ended."""

    tmp_path = tmp_path_factory.mktemp("tree")

    def of(shape, count):
        steps = Steps()
        (tmp_path / "bench.sls").write_text(
            "".join(f"s{number}: {{{SHAPES[shape](number, count)}}}\n" for number in range(count))
        )
        settings = Settings(
            file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path / "c"), state_dir=str(tmp_path / "s")
        )

        async def applied():
            async with StateRuntime(settings) as runtime, runtime.run(await runtime.compile(["bench"])) as run:
                ended = [event async for event in run]
            assert run.report.ok
            assert len(run.report.rows) == count
            assert len(ended) > count

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_pool, "_TURN", -1)  # one state: as many as fit into a time depend on the machine
            patch.setattr(Engine, "machine", Machine)  # not the one that validates itself after each step
            patch.setattr(asyncio.Handle, "_run", steps.counted(asyncio.Handle._run))
            asyncio.run(applied())
        return steps.longest

    for shape in SHAPES:
        of(shape, 20)  # everything is imported
    return of


@pytest.mark.parametrize("shape", SHAPES)
def test_no_callback_takes_longer_in_a_larger_tree(longest, shape):
    few, many = longest(shape, FEW), longest(shape, MANY)
    more = (many.total() - few.total()) / (MANY - FEW)
    assert more <= A_STATE.get(shape, 5), (many - few).most_common(5)
