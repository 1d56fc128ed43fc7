"""Hypothesis strategies for the plans of hosts that wait for one another."""

from __future__ import annotations

from itertools import zip_longest

from hypothesis import assume, reject
from hypothesis import strategies as st
from simulated_system import StateModules
from simulated_trees import COUNTERS, PACKAGES, trees
from trees import compiler

from asyncstate.errors import CompileError, CycleError
from asyncstate.extras.fleet.host import partition
from asyncstate.extras.fleet.join.join import join
from asyncstate.model import extension
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan

HOSTS = ("one", "two")
WATCHES = ("watch", "watch_any", "onchanges")
ACROSS = (
    ({}, ({},)),
    ({"functions": COUNTERS, "kinds": WATCHES}, ({"fleet_lane": "slow"}, {"fleet_lane": "slow"})),
    (
        {"functions": PACKAGES, "options": {"state_aggregate": None}, "kinds": ("require",)},
        ({"fleet_order": 1}, {"fleet_order": 2}),
    ),
)
"""How a tree is drawn, and further arguments of its first states."""
PATCHED = ((extension, "SET_FROM"),)
"""Numbers from which on states go through a SET."""


def draw_part(draw, tree, across):
    """The plan of one of two hosts that share a tree."""
    parts = _parts(draw, tree, across)
    return parts[draw(st.sampled_from(sorted(parts)))].plan


@st.composite
def parts(draw):
    """What each of two hosts runs of a tree that has no barriers across hosts."""
    how, across = draw(st.sampled_from([sort for sort in ACROSS if "fleet_order" not in sort[1][0]]))
    return _parts(draw, draw(trees(**how)), across)


def _parts(draw, tree, across):
    host_of = {id_: draw(st.sampled_from(HOSTS)) for id_ in tree.high}
    sls_of = {(host_of[id_], body["__sls__"]) for id_, body in tree.high.items()}
    high = {host: {} for host in HOSTS}
    for (id_, body), more in zip_longest(tree.high.items(), across[: len(tree.high)], fillvalue={}):
        arguments = [_across(each, host_of, host_of[id_], sls_of) for each in _arguments(body)]
        high[host_of[id_]][id_] = {**body, _module(body): [*arguments, more]}
    assume(all(high.values()))
    try:
        return parts_of(high, **tree.options)
    except (CompileError, CycleError):
        reject()


def parts_of(high, **options):
    """The parts of hosts in a run of all of them, by host; ``high`` has the high data of each."""
    states = StateModules()
    alone = {
        host: compiler({}, states=states, remote=True, **options, id=host).plan_high(data)
        for host, data in high.items()
    }
    shown = {host: RedactedPlan(plan, Secrets()) for host, plan in alone.items()}
    sent = {
        host: partition.host_plan(plan, shown[host], run="r", host=host, nonce=host) for host, plan in alone.items()
    }
    goes = join(sent, lambda name: [host for host in high if host == name]).goes

    def can_watch(module):
        return states.has(f"{module}.mod_watch")

    return {
        host: partition.partition_of(alone[host], shown[host], go, can_watch=can_watch) for host, go in goes.items()
    }


def _module(body):
    return next(key for key in body if not key.startswith("__"))


def _arguments(body):
    return body[_module(body)]


def _across(argument, host_of, host, sls_of):
    """An argument with the host of each state that another host has."""
    if not isinstance(argument, dict):
        return argument
    return {
        key: [_reference(each, host_of, host, sls_of) for each in value]
        if isinstance(value, list) and all(isinstance(each, dict) for each in value)
        else value
        for key, value in argument.items()
    }


def _reference(reference, host_of, host, sls_of):
    [(module, target)] = reference.items() if len(reference) == 1 else [("", "")]
    if module == "sls" and (host, target) not in sls_of:
        return {"host": next(other for other in HOSTS if other != host), **reference}
    if host_of.get(target, host) != host:
        return {"host": host_of[target], **reference}
    return reference
