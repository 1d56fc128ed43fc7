"""The scheduler by itself: microseconds a node, beside a bare asyncio loop over the same graph in the same process.

``python benchmarks/dispatch.py [COUNT]``. No state function is called: what is measured is deciding what runs when.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys

from trees import Clock

from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan
from asyncstate.model.requisite import Requisite, RequisiteKind
from asyncstate.model.result import Outcome
from asyncstate.run.machine import Machine

ROUNDS = 5
DONE = Outcome(result=True, changed=False)


def plan(requires: list[list[int]]) -> Plan:
    """Make a plan of ``test.nop`` states; ``requires[i]`` are the states that state i requires."""
    dag = Dag(len(requires))
    for after, before in enumerate(requires):
        for number in before:
            dag.add(number, after, "require")
    return Plan(
        chunks=tuple(LowChunk(i, "test", "nop", f"s{i}", f"s{i}", "s", "base", i, {}) for i in range(len(requires))),
        nodes=tuple(Node(NodeKind.CHUNK, i) for i in range(len(requires))),
        requisites=tuple(tuple(Requisite(RequisiteKind.REQUIRE, number) for number in before) for before in requires),
        rank=tuple(range(len(requires))),
        dag=dag,
    )


def through_the_machine(subject: Plan) -> None:
    """Take work until there is none, each piece done at once."""
    machine = Machine(subject)
    while (work := machine.take()) is not None:
        machine.done(work.node, DONE)


def through_tasks(subject: Plan) -> None:
    """Do the least one would write by hand: a task for each node that is ready, an event at the end."""

    async def main() -> None:
        waiting = subject.dag.in_degrees()
        left = len(waiting)
        end = asyncio.Event()
        tasks = set()

        async def node(number: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                end.set()
            for after in subject.dag.successors(number):
                waiting[after] -= 1
                if not waiting[after]:
                    start(after)

        def start(number: int) -> None:
            task = asyncio.ensure_future(node(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        for number in [i for i, count in enumerate(waiting) if not count]:
            start(number)
        await end.wait()

    asyncio.run(main())


def shapes(count: int) -> dict[str, list[list[int]]]:
    """Return the graphs: no edges, one chain, three requisites each into the twenty states before."""
    dice = random.Random(7)
    return {
        "wide": [[] for _ in range(count)],
        "chain": [[i - 1] if i else [] for i in range(count)],
        "layered": [sorted(dice.sample(range(max(0, i - 20), i), min(i, 3))) for i in range(count)],
    }


def main() -> None:
    """Print one line a shape: both medians, and their ratio."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{count} nodes, median of {ROUNDS}, µs CPU a node")
    print(f"{'shape':<10}{'machine':>10}{'asyncio tasks':>16}{'ratio':>8}")
    for shape, requires in shapes(count).items():
        subject = plan(requires)
        times: dict[str, list[float]] = {"machine": [], "tasks": []}
        for _ in range(ROUNDS):
            for name, run in (("machine", through_the_machine), ("tasks", through_tasks)):
                clock = Clock()
                run(subject)
                times[name].append(clock.stop().cpu / count * 1e6)
        ours, bare = (statistics.median(times[name]) for name in ("machine", "tasks"))
        print(f"{shape:<10}{ours:>10.2f}{bare:>16.2f}{ours / bare:>8.2f}")


if __name__ == "__main__":
    main()
