"""The plans of hosts with one tree take little more memory than one plan."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.controller.pool import Pool
from asyncstate.extras.fleet.protocol import HostPlan, State, decode, encode

STATES = st.builds(State, *(st.sampled_from("ab"),) * 5, line=st.integers(0, 2))
PLANS = st.builds(
    HostPlan,
    nonce=st.just("n"),
    states=st.lists(STATES, max_size=4).map(tuple),
    edges=st.lists(st.integers(0, 500), max_size=4).map(tuple),
    sources=st.lists(st.sampled_from(["require", "watch"]), max_size=4).map(tuple),
)


@given(st.lists(PLANS, max_size=5))
def test_a_plan_from_the_pool_is_the_same_plan(plans):
    pool = Pool()
    assert [pool.plan(each) for each in plans] == plans


def memory_of(hosts, states):
    """The bytes that the plans of so many hosts take."""

    def plan(host):
        found = tuple(State("test", "nop", f"s{k}", f"s{k}", "sls", "/srv/salt/sls.sls", k) for k in range(states))
        edges = tuple(node for k in range(1, states) for node in (k - 1, k))
        sources = ("require",) * (states - 1)
        return encode(
            HostPlan(run="r", host=f"h{host}", nonce="n", states=found, nodes=states, edges=edges, sources=sources)
        )

    sent = [plan(host) for host in range(hosts)]
    tracemalloc.start()
    pool = Pool()
    plans = [pool.plan(decode(each, HostPlan)) for each in sent]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(plans) == hosts
    return taken


def test_memory_grows_with_hosts_by_a_word_a_state():
    few, many = memory_of(2, 400), memory_of(52, 400)
    assert (many - few) / 50 < 400 * 12
