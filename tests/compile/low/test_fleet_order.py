"""The place of a state in an order across hosts: what is one, and that a common call does not pass it by."""

import pytest
from trees import FakeStates, compiler

from asyncstate.model.plan import NodeKind


def compiled(*lines, remote=False, **options):
    states = FakeStates("test.mod_watch", "pkg.mod_aggregate", hooks={"pkg.mod_transaction": lambda low, first: ""})
    return compiler("\n".join(lines) + "\n", states=states, remote=remote, **options).plan(["s"])


@pytest.mark.parametrize("argument", ["fleet_order: -3", "fleet_order: 0", "fleet_lane: x", "fleet_lane: [x, y]"])
def test_on_one_host_it_has_no_effect(argument):
    with_it = compiled("a:", "  test.nop:", f"    - {argument}", "b:", "  test.nop: []")
    without = compiled("a:", "  test.nop: []", "b:", "  test.nop: []")
    assert with_it.dag.size == without.dag.size
    assert list(with_it.dag.edges()) == list(without.dag.edges())


PACKAGES = ("a:", "  pkg.installed:", "    - {}", "b:", "  pkg.installed: []")


def groups(*, remote, argument, **options):
    lines = [line.format(argument) for line in PACKAGES]
    plan = compiled(*lines, remote=remote, implicit_order="footprint", **options)
    return [node.members for node in plan.nodes if node.kind is NodeKind.GROUP]


@pytest.mark.parametrize("options", [{}, {"state_aggregate": True}])
def test_across_hosts_no_common_call_does_the_work_of_a_state_that_must_wait(options):
    for argument in ("fleet_order: 0", "fleet_lane: x"):
        assert groups(remote=True, argument=argument, **options) == []
        assert groups(remote=False, argument=argument, **options) == [(0, 1)]
    assert groups(remote=True, argument="refresh: True", **options) == [(0, 1)]
