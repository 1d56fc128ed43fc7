"""The cases of test_plans.yaml: what comes of trees, each with all that a case names of its plan, and without a warning.

``order`` is the serial order. A state is shown by its ID, or by module and ID or name where several have the ID, and
``?`` stands before its check for a prereq.
"""

from collections import Counter

from tables import beside, rows
from trees import WATCHING, FakeStates, plan

from asyncstate.model.plan import NodeKind

CASES = beside(__file__)
STATES = FakeStates(*WATCHING, "pkg.mod_aggregate", "gem.mod_aggregate")


def labels(made):
    """The shortest text that means each chunk alone."""
    forms = [(one.id, f"{one.state}:{one.id}", f"{one.state}:{one.name}") for one in made.chunks]
    count = Counter(form for own in forms for form in {*own})
    return [next((form for form in own if count[form] == 1), own[-1]) for own in forms]


def shown(made):
    """What a case may say of a plan."""
    of = labels(made)
    node = [
        f"{'?' * (each.kind is NodeKind.CHECK)}{of[each.chunk]}" if each.chunk >= 0 else each.label
        for each in made.nodes
    ]
    timed = sorted((made.rank[at], name) for at, name in enumerate(node) if made.nodes[at].chunk >= 0)
    return {
        "order": " ".join(name for _, name in timed[: len(timed) - len(made.listeners)]),
        "functions": {of[chunk.index]: chunk.function for chunk in made.chunks},
        "orders": {of[chunk.index]: chunk.order for chunk in made.chunks},
        "from": {of[chunk.index]: f"{chunk.env}:{chunk.sls}" for chunk in made.chunks},
        "edges": sorted(f"{node[edge.before]} > {node[edge.after]}" for edge in made.dag.edges()),
        "requisites": {
            of[at]: [f"{each.kind.value} {node[each.node]}" for each in own] for at, own in enumerate(made.requisites)
        },
        "args": {of[chunk.index]: chunk.args for chunk in made.chunks},
        "listeners": [f"{of[each.chunk]} to {' '.join(of[at] for at in each.members)}" for each in made.listeners],
        "groups": [" ".join(node[at] for at in each.members) for each in made.nodes if each.kind is NodeKind.GROUP],
        "names": [chunk.name for chunk in made.chunks],
        "rows": [*made.rows],
        "warned": [issue.code for issue in made.warnings],
    }


@rows("title", CASES)
def test_the_plan_of_a_tree(title):
    case = {"warned": [], **CASES[title]}
    made = shown(plan(case.pop("tree"), states=STATES, **case.pop("options", {})))
    for what, expected in case.items():
        found = made[what]
        assert (found if not isinstance(expected, dict) else {key: found[key] for key in expected}) == expected, what
