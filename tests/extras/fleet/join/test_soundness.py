"""A sound plan is taken, whichever host sent it, and takes memory in proportion to its size."""

import pytest
from fleets import any_fleets, is_cyclic, published
from hypothesis import given, settings

from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.join.soundness import require_sound
from asyncstate.extras.fleet.protocol import HostPlan, State
from asyncstate.model.requisite import RemoteRequisite

STATE = State("test", "nop", "x", "x", "s")


@settings(max_examples=40)
@given(any_fleets())
def test_what_hosts_send_is_sound_unless_their_own_states_form_a_circle(fleet):
    for host in fleet.hosts:
        plan = fleet.plan(host)
        if is_cyclic(plan):
            with pytest.raises(MessageRefused, match="in a circle"):
                require_sound(published(plan, host))
        else:
            require_sound(published(plan, host))


@pytest.mark.parametrize(
    "wrong",
    [
        {"edges": (0, 9), "sources": ("require",)},
        {"edges": (0,), "sources": ("require",)},
        {"nodes": 4_000_000},
        {"nodes": 0},
        {"checks": ((0, 0),)},
        {"requires": (RemoteRequisite(3, "require", "a", "id", "b"),)},
        {"requires": (RemoteRequisite(0, "nonsense", "a", "id", "b"),)},
        {"orders": ((1, 10),)},
        {"lanes": ((-1, "m"),)},
        {"edges": (0, 0), "sources": ("require",)},
        {"states": (STATE, STATE), "nodes": 2, "edges": (0, 1, 1, 0), "sources": ("require", "footprint")},
    ],
)
def test_a_plan_that_cannot_be_one_is_refused_by_name(wrong):
    with pytest.raises(MessageRefused, match="plan of host h1 is malformed"):
        require_sound(HostPlan(host="h1", nonce="n", **{"states": (STATE,), "nodes": 1, **wrong}))
