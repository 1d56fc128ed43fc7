"""What stands before a node of a plan, searched in the plain way."""

from __future__ import annotations

from hypothesis import Phase, settings

from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.walk import JOINTS, STATES
from asyncstate.report.summary import describe_tag

REQUISITES = frozenset(kind.value for kind in RequisiteKind)
FAILING = frozenset(("require", "require_any", "watch", "watch_any", "prereq", "prerequired"))
DRAWN = settings(max_examples=40, phases=(Phase.explicit, Phase.generate))


def ways(plan, node, through):
    """Every way from a state over joints to a node, as (the state, why the node waits for it), one by one."""
    for before in plan.dag.predecessors(node):
        kind, sources = plan.nodes[before].kind, plan.dag.sources(before, node)
        if kind in STATES - through:
            yield before, {(source, *plan.dag.resources(before, node)) for source in sources}
        elif kind in through:
            in_group = sources == (FOOTPRINT,) and kind is not NodeKind.SET
            for state, inner in ways(plan, before, through):
                hidden = in_group or (kind is NodeKind.SET and {one for one, *_ in inner} == {"group"})
                own = {(source, *plan.dag.resources(before, node)) for source in sources}
                yield state, {("group",)} if hidden else own


def plain_before(plan, node, through=JOINTS):
    found = {}
    for state, why in ways(plan, node, through):
        if state != node:
            found.setdefault(state, set()).update(why)
    return found


def told(reasons):
    """What a walk found, as `plain_before` has it; which resource belongs to which edge is not known any more."""
    return {node: (set(reason.sources), set(reason.resources)) for node, reason in reasons.items()}


def merged(found):
    return {
        node: ({one for one, *_ in why}, {each for _, *resources in why for each in resources})
        for node, why in found.items()
    }


def calls_of(plan, chunk):
    return {number for number, node in enumerate(plan.nodes) if node.chunk == chunk and node.kind in STATES}


def states_before(plan, chunk, through=JOINTS):
    """The nodes that the call of a state or its check waits for, with the sources."""
    own, found = calls_of(plan, chunk), {}
    for call in own:
        for node, (sources, _) in merged(plain_before(plan, call, through)).items():
            if node not in own:
                found.setdefault(node, set()).update(sources)
    return found


def meant(plan, node):
    """The states that a requisite on a node names."""
    return {each for member in plan.nodes[node].members for each in meant(plan, member)} or {node}


def name(plan, node):
    if plan.nodes[node].kind is NodeKind.REMOTE:
        return plan.nodes[node].label
    tag = describe_tag(plan.chunks[plan.nodes[node].chunk].tag)
    return f"the check of {tag}" if plan.nodes[node].kind is NodeKind.CHECK else tag
