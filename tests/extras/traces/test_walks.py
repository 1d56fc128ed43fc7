from __future__ import annotations

from drawn_plans import plans
from hypothesis import given
from walks import DRAWN, calls_of, merged, plain_before

from asyncstate.extras.traces.spans import waits_in
from asyncstate.model.plan import NodeKind
from asyncstate.model.walk import JOINTS


def traced(plan, node):
    """How a trace names a state."""
    what = plan.nodes[node]
    is_remote = what.kind is NodeKind.REMOTE
    return what.label if is_remote else plan.chunks[what.chunk].tag, what.kind is NodeKind.CHECK


@DRAWN
@given(plans())
def test_a_trace_tells_what_stands_before(plan):
    awaited = waits_in(plan)
    for chunk in plan.chunks:
        for call in calls_of(plan, chunk.index):
            linked = merged(plain_before(plan, call, JOINTS - {NodeKind.STAGE}))
            assert {other: set(because) for other, because in awaited[traced(plan, call)].items()} == {
                traced(plan, node): sources for node, (sources, _) in linked.items()
            }
