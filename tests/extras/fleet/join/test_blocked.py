"""Hosts that wait for a host without a plan do not begin; all others do, and wait only for running hosts."""

import pytest
from fleets import Fleet, fleets, published, run_fleet
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from asyncstate.extras.fleet.host.partition import partition_of
from asyncstate.extras.fleet.join.join import join
from asyncstate.model.result import Outcome
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan


def joined(fleet, *absent, match=lambda hosts: lambda expression: [host for host in hosts if host == expression]):
    sent = {host: published(fleet.plan(host), host) for host in fleet.hosts if host not in absent}
    return join(sent, match(fleet.hosts), absent=dict.fromkeys(absent, "it did not answer"))


def waits_of(fleet):
    """For each host those that it waits for, as far as its own plan or theirs says: who said it, who waits, for whom."""
    for _, own, requisites in fleet.states:
        for kind, target, reverse in requisites:
            other = fleet.host_of[target]
            if other != own:
                said_by = other if reverse else own
                yield said_by, own, other
                if kind == "prereq":
                    yield said_by, other, own
    for id_, target in fleet.listens:
        if fleet.host_of[id_] != fleet.host_of[target]:
            yield fleet.host_of[id_], fleet.host_of[id_], fleet.host_of[target]


@settings(max_examples=60)
@given(fleets(hosts="abcd"), st.data())
def test_those_who_wait_are_left_out_and_the_others_run_to_the_end(fleet, data):
    away = data.draw(st.sampled_from(fleet.hosts))
    result = joined(fleet, away)
    out = {away}
    while more := {w for said, w, o in waits_of(fleet) if said != away and w not in out and o in out}:
        out |= more
    assert set(result.blocked) == out - {away}
    assert set(result.goes) == {host for turn in result.turns for host in turn} == set(fleet.hosts) - out
    plans = {host: fleet.plan(host) for host in result.goes}
    parts = {
        host: partition_of(plan, RedactedPlan(plan, Secrets()), result.goes[host], can_watch=lambda _: True)
        for host, plan in plans.items()
    }
    told = run_fleet(parts, lambda _: Outcome(result=True, changed=True))  # asserts that nobody waits for ever
    assert {id_ for id_, host, _ in fleet.states if host in parts} <= told.verdicts.keys()


def test_the_words_name_the_state_the_requisite_and_the_reason():
    fleet = Fleet([("a", "db1", []), ("b", "web1", [("require", "a", False)]), ("c", "lb1", [("watch", "b", False)])])
    assert joined(fleet, "db1").blocked == {
        "web1": "its state s:b has [require: {host: db1, test: a}], and db1 has no plan: it did not answer",
        "lb1": "its state s:c waits for host web1, which does not begin",
    }


@pytest.mark.parametrize(("kind", "blocked"), [("require", False), ("prereq", True)])
def test_a_state_that_others_were_to_wait_for_runs_without_them(kind, blocked):
    fleet = Fleet([("a", "lb1", [(kind, "b", True)]), ("b", "web1", [])])  # web1 says that lb1 waits for it
    assert (set(joined(fleet, "lb1").blocked) == {"web1"}) is blocked


def test_an_expression_means_the_hosts_that_have_a_plan_if_there_are_any():
    fleet = Fleet([("a", "db1", []), ("a2", "db2", []), ("b", "web1", [("require", "a", False)])])

    def everybody(hosts):
        return lambda _: hosts

    sent = published(fleet.plan("web1"), "web1")
    assert sent.requires[0].hosts == "db1"
    assert set(joined(fleet, "db2", match=everybody).goes) == {"db1", "web1"}
    assert set(joined(fleet, "db1", "db2", match=everybody).goes) == set()


def test_a_bad_reference_keeps_its_host_and_those_who_wait_for_it_from_beginning_and_nobody_else():
    fleet = Fleet(
        [
            *(("a", "db1", []), ("b", "web1", [("require", "a", False)]), ("c", "lb1", [("watch", "b", False)])),
            ("d", "cache1", []),
        ]
    )
    sent = {host: published(fleet.plan(host), host) for host in fleet.hosts}
    [good] = sent["web1"].requires
    bad = structs.replace(good, value="typo")
    sent["web1"] = structs.replace(sent["web1"], requires=(good, bad))
    result = join(sent, lambda expression: [host for host in fleet.hosts if host == expression])
    assert set(result.goes) == {"db1", "cache1"}
    assert "Referenced state does not exist for requisite [require: {host: db1, test: typo}]" in result.blocked["web1"]
    assert result.blocked["lb1"] == "its state s:c waits for host web1, which does not begin"
