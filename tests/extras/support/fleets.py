"""Small fleets of plans made by hand, the same states on one host, and machines that run them without a loop."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from plans import PlanBuilder
from validating_machine import ValidatingMachine

from asyncstate.extras.fleet.host.partition import host_plan, partition_of
from asyncstate.extras.fleet.join.join import join
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RemoteRequisite, RequisiteKind
from asyncstate.model.result import Outcome
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.gate import Verdict

KINDS = [kind.value for kind in RequisiteKind if kind not in (RequisiteKind.PREREQUIRED, RequisiteKind.LISTEN)]


class Fleet:
    """States ``(id, host, [(kind, id, reverse), …])`` in one serial order, and which of them listen to which.

    ``args`` has further arguments of states, by ID.
    """

    def __init__(self, states, listens=(), args=None):
        self.args = args or {}
        self.states = states
        self.listens = list(listens)
        self.host_of = {id_: host for id_, host, _ in states}
        self.hosts = sorted(set(self.host_of.values()))

    def __repr__(self):
        return f"Fleet({self.states}, {self.listens}, {self.args})"

    def alone(self):
        """All states on one host."""
        builder = PlanBuilder()
        for id_, _, requisites in self.states:
            builder.chunk(id_, **_by_kind(requisites))
        for id_, target in self.listens:
            builder.listen(id_, target)
        return builder.build()

    def plan(self, host):
        """The part of one host."""
        builder = PlanBuilder()
        remote = []
        for id_, own, requisites in self.states:
            if own == host:
                builder.chunk(
                    id_,
                    args=self.args.get(id_),
                    **_by_kind([each for each in requisites if self.host_of[each[1]] == host]),
                )
        index = {chunk.id: chunk.index for chunk in builder.chunks}
        every = [(id_, *each) for id_, _, requisites in self.states for each in requisites]
        for id_, kind, target, reverse in [*every, *((id_, "listen", target, False) for id_, target in self.listens)]:
            mine, other = self.host_of[id_], self.host_of[target]
            if mine == other:
                continue
            if not reverse and mine == host:
                remote.append(RemoteRequisite(index[id_], kind, other, "test", target, False, "s.sls", 1))
            elif reverse and other == host:
                remote.append(RemoteRequisite(index[target], kind, mine, "id", id_, True, "s.sls", 1))
        for id_, target in self.listens:
            if self.host_of[id_] == host == self.host_of[target]:
                builder.listen(id_, target)
        return msgspec.structs.replace(builder.build(), remote=tuple(remote))

    def parts(self):
        """The parts of all hosts, joined."""
        plans = {host: self.plan(host) for host in self.hosts}
        sent = {host: published(plan, host) for host, plan in plans.items()}
        goes = join(sent, lambda _: self.hosts).goes
        return {
            host: partition_of(plan, RedactedPlan(plan, Secrets()), goes[host], can_watch=lambda _: True)
            for host, plan in plans.items()
        }


def published(plan, host):
    return host_plan(plan, RedactedPlan(plan, Secrets()), run="r", host=host, nonce=f"nonce of {host}")


def _by_kind(requisites):
    found = {}
    for kind, target, _ in requisites:
        found.setdefault(kind, []).append(target)
    return found


def is_cyclic(plan):
    return len(plan.dag.topological_order(lambda node: node)) < plan.dag.size


def fleets(most=7, hosts="abc"):
    """Fleets whose requisites form no cycle."""
    return any_fleets(most, hosts).filter(lambda fleet: not is_cyclic(fleet.alone()))


@st.composite
def any_fleets(draw, most=7, hosts="abc"):
    """Fleets in which a state refers to earlier ones, a prereq to later ones; that can form a cycle."""
    size = draw(st.integers(2, most))
    ids = [f"s{number}" for number in range(size)]
    states = []
    for number, id_ in enumerate(ids):
        requisites = []
        for _ in range(draw(st.integers(0, 2))):
            kind = draw(st.sampled_from(KINDS))
            others = ids[number + 1 :] if kind == "prereq" else ids[:number]
            if others:
                requisites.append((kind, draw(st.sampled_from(others)), draw(st.booleans())))
        states.append((id_, draw(st.sampled_from(hosts)), list(dict.fromkeys(requisites))))
    listens = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=2, unique=True))
    return Fleet(states, [pair for pair in listens if pair[0] != pair[1]])


OUTCOMES = st.builds(
    Outcome,
    result=st.sampled_from([True, True, True, False, None]),
    changed=st.booleans(),
    skip_req=st.sampled_from([False, False, False, True]),
)


class Told:
    """What a run did with each state: verdicts and who is to blame, by ID; ``order`` is that of starts and ends.

    ``shared`` has the IDs of the states that may share each call of a group.
    """

    def __init__(self):
        self.verdicts = {}
        self.order = []
        self.runs = []
        self.shared = []


def run_alone(plan, outcome_of, choose=lambda _: 0):
    return run_parts({"": plan}, {"": {}}, {"": {}}, outcome_of, choose)


def run_fleet(parts, outcome_of, choose=lambda _: 0):
    """Run parts until nothing moves. ``choose(n)`` picks what happens next, of n things that could."""
    plans = {host: part.plan for host, part in parts.items()}
    remote = {host: part.remote for host, part in parts.items()}
    read = {host: {} for host in parts}
    for host, part in parts.items():
        for name, (node, readers) in part.read.items():
            read[host].setdefault(node, []).extend((name, reader) for reader in readers)
    return run_parts(plans, remote, read, outcome_of, choose)


def run_parts(plans, remote, read, outcome_of, choose):
    told = Told()
    machines = {host: ValidatingMachine(plan) for host, plan in plans.items()}
    under_way, in_flight = [], []
    while True:
        for host, machine in machines.items():
            while (work := machine.take()) is not None:
                under_way.append((host, work))
                note_start(told, machine, host, work)
        if not under_way and not in_flight:
            break
        at = choose(len(under_way) + len(in_flight))
        if at < len(under_way):
            host, work = under_way.pop(at)
            machine = machines[host]
            outcome = _outcome(machine.plan, work, outcome_of)
            note_end(told, machine, work)
            machine.done(work.node, outcome)
            outcome = machine.outcomes.told(work.node)
            in_flight += [
                (reader, remote[reader][host, name], outcome) for name, reader in read[host].get(work.node, ())
            ]
        else:
            reader, node, outcome = in_flight.pop(at - len(under_way))
            machines[reader].arrive(node, outcome)
    assert all(machine.finished for machine in machines.values()), "somebody waits for ever"
    return told


def _key(plan, work):
    chunk = plan.chunks[work.chunk]
    is_one = sum(other.id == chunk.id for other in plan.chunks) == 1
    what = {NodeKind.LISTENER: "listener ", NodeKind.CHECK: "check "}.get(work.kind, "")
    return what + (chunk.id if is_one else chunk.tag)


def note_start(told, machine, host, work):
    plan = machine.plan
    if work.kind is NodeKind.GROUP:
        told.shared.append([plan.chunks[member].id for member in work.members])
        return
    key = _key(plan, work)
    failed = {plan.chunks[index].id for index in work.failed} | {plan.elsewhere[node].id for node in work.elsewhere}
    assert key not in told.verdicts, f"{key} starts twice"
    told.verdicts[key] = (work.verdict, failed)
    told.order.append(("start", key))
    if work.verdict.runs:
        told.runs.append(key)


def note_end(told, machine, work):
    if work.kind is not NodeKind.GROUP:
        told.order.append(("end", _key(machine.plan, work)))


def _outcome(plan, work, outcome_of):
    if work.kind is NodeKind.GROUP:
        return Outcome(result=True, changed=False)
    if not work.verdict.runs:
        return Outcome(result=work.verdict is not Verdict.FAIL, changed=False, ran=False)
    return outcome_of(_key(plan, work))
