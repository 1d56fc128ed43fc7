"""A sketch has the order of its plan."""

import msgspec
from hypothesis import given, settings

from asyncstate.extras.proof.shake.orders import Orders
from asyncstate.extras.proof.shake.sketch import plan_of, sketch
from tests.run.test_machine import plans


@settings(max_examples=25)
@given(plan=plans())
def test_a_plan_that_was_sketched_has_the_same_orders_and_states(plan):
    drawn = plan_of(msgspec.json.decode(msgspec.json.encode(sketch(plan))))
    assert Orders(drawn).every_delay(Orders(drawn).serial) == Orders(plan).every_delay(Orders(plan).serial)
    assert [chunk.tag for chunk in drawn.chunks] == [chunk.tag for chunk in plan.chunks]
    assert (drawn.nodes, drawn.rank, drawn.digest) == (plan.nodes, plan.rank, plan.digest)
