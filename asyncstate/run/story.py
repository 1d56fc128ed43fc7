"""The story of a node: its changes in a run, in order and with their causes, read from the machine's history.

    s:web (web.sls:7)
          0  start: waits for 2: s:conf (require), s:user (require)
          4  s:conf ended: waits for 1
          7  s:user ended: ready
          9  taken: running
         12  ended: True, with changes

The numbers count the calls of the machine (take, end, stop), so the stories of one run fit together. A machine stalls
if it has nodes left that it can never hand out; the run then ends with the stories of those nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.plan import NodeKind
from asyncstate.model.result import INTERNAL_ERROR, OUT_OF_MEMORY, STALLED
from asyncstate.run.machine import Step
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Outcome
    from asyncstate.run.machine import Machine

_MOST_SHOWN = 20
"""The number of stories shown of a stalled run, and of predecessors named in one."""
_STIMULI = frozenset({Step.TAKEN, Step.ENDED, Step.GIVEN_UP, Step.FAILED_HARD, Step.STOPPED})


class Change(Value):
    """One change of a node: number (0: the start) and name of the stimulus, and the state before and after."""

    number: int
    stimulus: str
    before: str
    after: str


class MachineStalled(RuntimeError):
    """A bug: nothing runs, nothing can be taken, and nodes are left. Its notes are the stories of these nodes."""

    def __init__(self, machine: Machine, shown: Callable[[str], str]) -> None:
        """Add the stories as notes. ``shown`` removes their secrets."""
        left = stalled_nodes(machine)
        super().__init__(f"{STALLED}: nothing runs, and {len(left)} nodes of the plan can never start")
        for node in left[:_MOST_SHOWN]:
            self.add_note(shown(story_text(machine, node)))
        if len(left) > _MOST_SHOWN:
            self.add_note(f"and {len(left) - _MOST_SHOWN} more")


def stalled_nodes(machine: Machine) -> list[int]:
    """Return the nodes of a stalled machine that were never handed out, those without such a predecessor first."""
    known = [False] * len(machine.plan.nodes)
    for step, node in machine.history():
        if step in {Step.TAKEN, Step.PASSED}:
            known[node] = True
    left = [n for n, what in enumerate(machine.plan.nodes) if not known[n] and what.kind is not NodeKind.LISTENER]
    before = machine.plan.dag.predecessors
    return sorted(left, key=lambda node: (not all(known[other] for other in before(node)), node))


def story(machine: Machine, node: int) -> list[Change]:
    """Return every change of a node, in order. The first is the start of the run."""
    plan, outcome = machine.plan, machine.outcomes.of(node)
    before = set(plan.dag.predecessors(node))
    listener = plan.nodes[node].kind is NodeKind.LISTENER
    state = "waits for the end of all others" if listener else _waits_for(plan, node, before)
    changes = [Change(0, "start", "", state)]
    number, stimulus, stopped = 0, "start", False
    started = (Step.TAKEN, node) in machine.history()
    for step, other in machine.history():
        if step in _STIMULI:
            number += 1
            stimulus = _stimulus(machine, step, other, node)
        after = state
        if other == node and step is not Step.STOPPED:
            in_vain = stopped and not started and step in {Step.READY, Step.PARKED}  # its lane became free too late
            after = state if in_vain else _own_state(step, outcome) or state
        elif step in {Step.ENDED, Step.GIVEN_UP, Step.PASSED} and other in before and not stopped:
            before.remove(other)
            after = f"waits for {len(before)}" if before else "free"
        elif step in {Step.FAILED_HARD, Step.STOPPED}:
            stopped = True
            if state in _OPEN or state.startswith("waits"):
                after = "not to be started"
        if after != state:
            origin = changes.pop().before if changes[-1].number == number else state
            changes.append(Change(number, stimulus, origin, after))
            state = after
    return changes


def story_text(machine: Machine, node: int) -> str:
    """Return the story of a node as lines: its name, one line for each change, and the nodes it still waits for."""
    lines = [name_of(machine.plan, node)]
    lines += [f"  {each.number:>7}  {each.stimulus}: {each.after}" for each in story(machine, node)]
    if machine.outcomes.of(node) is None:
        missing = [other for other in machine.plan.dag.predecessors(node) if machine.outcomes.of(other) is None]
        if missing:
            lines.append(f"           never ended: {_names(machine.plan, missing, node)}")
    return "\n".join(lines)


def name_of(plan: Plan, node: int) -> str:
    """Return the name of a node for messages."""
    what = plan.nodes[node]
    if what.kind is NodeKind.CHUNK:
        return plan.chunks[node].place
    if what.kind in {NodeKind.CHECK, NodeKind.LISTENER}:
        return f"{what.kind.name.lower()} of {plan.chunks[what.chunk].place}"
    return f"{what.kind.name.lower()} {what.label or node}"


_OPEN = frozenset({"ready", "free", "waits for a lane"})


def _own_state(step: Step, outcome: Outcome | None) -> str:
    if step is Step.READY:
        return "ready"
    if step is Step.PARKED:
        return "waits for a lane"
    if step is Step.TAKEN:
        return "running"
    if step is Step.PASSED:
        return "passed"
    return _in_words(outcome) if step in {Step.ENDED, Step.GIVEN_UP} else ""


def _in_words(outcome: Outcome | None) -> str:
    if outcome is None:
        return "None"
    return f"{outcome.result}{', with changes' if outcome.changed else ''}"


def _stimulus(machine: Machine, step: Step, other: int, node: int) -> str:
    if step is Step.STOPPED:
        return f"stopped ({machine.stopped})"
    words = _WORDS[step]
    return words if other == node else f"{name_of(machine.plan, other)} {words}"


_WORDS = {Step.TAKEN: "taken", Step.ENDED: "ended", Step.GIVEN_UP: "given up", Step.FAILED_HARD: "failed hard"}


def _waits_for(plan: Plan, node: int, before: Iterable[int]) -> str:
    others = sorted(before)
    return f"waits for {len(others)}: {_names(plan, others, node)}" if others else "free"


def _names(plan: Plan, others: list[int], node: int) -> str:
    named = [f"{name_of(plan, other)} ({', '.join(plan.dag.sources(other, node))})" for other in others[:_MOST_SHOWN]]
    return ", ".join(named) + (f" and {len(others) - _MOST_SHOWN} more" if len(others) > _MOST_SHOWN else "")


def fault(error: BaseException) -> str:
    """Return the reason that a report gives when an exception of the scheduler ended the run."""
    if isinstance(error, MachineStalled):
        return STALLED
    return OUT_OF_MEMORY if isinstance(error, MemoryError) else INTERNAL_ERROR
