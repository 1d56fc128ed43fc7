import msgspec
import pytest
from fleets import OUTCOMES, Fleet, any_fleets, fleets, is_cyclic, published, run_alone, run_fleet
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.errors import CompileError, CycleError, FleetError
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.host.partition import partition_of
from asyncstate.extras.fleet.join.join import join
from asyncstate.extras.fleet.protocol import HostPlan, Mistake, State
from asyncstate.model.requisite import RemoteRequisite, RequisiteKind
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan


@st.composite
def runs(draw):
    """A fleet, what its states return, and in which order things happen."""
    fleet = draw(fleets())
    outcomes = {}

    def outcome_of(key):
        if key not in outcomes:
            outcomes[key] = draw(OUTCOMES, label=key)
        return outcomes[key]

    return fleet, outcome_of, lambda count: draw(st.integers(0, count - 1))


@settings(max_examples=60)
@given(runs())
def test_a_fleet_gives_the_verdicts_of_one_host(drawn):
    fleet, outcome_of, choose = drawn
    alone = run_alone(fleet.alone(), outcome_of)
    told = run_fleet(fleet.parts(), outcome_of, choose)
    assert told.verdicts == alone.verdicts


@settings(max_examples=40)
@given(runs())
def test_no_requisite_is_violated_whatever_comes_first(drawn):
    fleet, outcome_of, choose = drawn
    told = run_fleet(fleet.parts(), outcome_of, choose)
    at = {what: place for place, what in enumerate(told.order)}
    for id_, _, requisites in fleet.states:
        for kind, target, _ in requisites:
            if kind == "prereq":
                assert at["end", f"check {target}"] < at["start", id_] < at["end", id_] < at["start", target]
            else:
                assert at["end", target] < at["start", id_]


@settings(max_examples=40)
@given(any_fleets())
def test_hosts_form_a_cycle_if_one_host_would(fleet):
    parts = [fleet.plan(host) for host in fleet.hosts]
    if any(map(is_cyclic, parts)):
        return
    if is_cyclic(fleet.alone()):
        with pytest.raises(CycleError):
            fleet.parts()
    else:
        fleet.parts()


@settings(max_examples=25)
@given(fleets(), st.randoms(use_true_random=False))
def test_the_join_does_not_depend_on_the_order_of_plans(fleet, random):
    sent = {host: published(fleet.plan(host), host) for host in fleet.hosts}
    shuffled = list(sent)
    random.shuffle(shuffled)
    assert join({host: sent[host] for host in shuffled}, lambda _: shuffled) == join(sent, lambda _: fleet.hosts)


@settings(max_examples=25)
@given(fleets())
def test_a_host_is_told_of_the_states_that_it_requires_and_no_others(fleet):
    sent = {host: published(fleet.plan(host), host) for host in fleet.hosts}
    goes = join(sent, lambda _: fleet.hosts).goes
    for host, go in goes.items():
        related = {target for id_, own, requisites in fleet.states for _, target, _ in requisites if own == host}
        related |= {
            id_
            for id_, _, requisites in fleet.states
            for kind, target, _ in requisites
            if kind == "prereq" and fleet.host_of[target] == host
        }
        related |= {target for id_, target in fleet.listens if fleet.host_of[id_] == host}
        assert {each.state.id for each in go.remote} == {id_ for id_ in related if fleet.host_of[id_] != host}
        assert all(host in goes[each.host].readers[each.node] for each in go.remote)
        assert all(host != each.host for each in go.remote)


def test_a_cycle_across_hosts_is_an_error_with_its_places():
    fleet = Fleet([("a", "h1", [("require", "b", False)]), ("b", "h2", [("watch", "c", False)]), ("c", "h1", [])])
    sent = {host: published(fleet.plan(host), host) for host in fleet.hosts}
    plan = sent["h1"]
    states = tuple(msgspec.structs.replace(state, file="web.sls", line=7) for state in plan.states)
    sent["h1"] = msgspec.structs.replace(plan, edges=(0, 1), sources=("require",), states=states)
    with pytest.raises(CycleError) as caught:
        join(sent, lambda _: fleet.hosts)
    [issue] = caught.value.issues
    assert issue.file in {"h1:web.sls", "h2"}
    assert "h1: s:a (web.sls:7) waits for h2: s:b (require)" in issue.hint
    assert "h2: s:b waits for h1: s:c (web.sls:7) (watch)" in issue.hint
    assert "h1: s:c (web.sls:7) waits for h1: s:a (web.sls:7) (require)" in issue.hint
    assert "'footprint:'" not in issue.hint


def test_a_cycle_that_an_implicit_order_closes_says_what_to_do():
    sent = {
        "h1": HostPlan(
            host="h1",
            nonce="n",
            states=(State("test", "nop", "x", "x", "s"), State("test", "nop", "y", "y", "s")),
            nodes=3,
            edges=(0, 2, 2, 1),
            sources=("footprint", "group"),
            requires=(RemoteRequisite(0, "require", "h2", "id", "z"),),
        ),
        "h2": HostPlan(
            host="h2",
            nonce="n",
            states=(State("test", "nop", "z", "z", "s"),),
            nodes=1,
            requires=(RemoteRequisite(0, "require", "h1", "id", "y"),),
        ),
    }
    with pytest.raises(CycleError) as caught:
        join(sent, lambda _: ["h1", "h2"])
    assert "h1: s:y waits for h1: s:x (footprint, group)" in caught.value.issues[0].hint
    assert "'footprint:'" in caught.value.issues[0].hint


def two_hosts(requisite, *ids):
    web = msgspec.structs.replace(PlanBuilder().chunk("site").build(), remote=(requisite,))
    db = PlanBuilder()
    for id_ in ids:
        db.chunk(id_)
    return {"web1": published(web, "web1"), "db1": published(db.build(), "db1")}


@pytest.mark.parametrize(
    ("hosts", "key", "value", "message", "hint"),
    [
        (
            "db2",
            "test",
            "x",
            "No host of this run fits requisite [require: {host: db2, test: x}]",
            "did you mean 'db1'?",
        ),
        ("qqqqq", "test", "x", "in state [site] in SLS [s] of host web1", "the run is on db1: add it to the target"),
        (
            "db1",
            "test",
            "postgresq",
            "does not exist for requisite [require: {host: db1, test: postgresq}]",
            "did you mean 'postgresql'?",
        ),
        ("db1", "service", "postgresql", "looked for on db1", "'postgresql' is there, but as test"),
        ("db1", "sls", "s.d", "looked for on db1", ""),
        ("web1", "test", "site", "No host of this run", ""),
    ],
)
def test_a_host_with_a_missing_target_does_not_begin_and_is_told_where_it_is_named(hosts, key, value, message, hint):
    requisite = RemoteRequisite(0, "require", hosts, key, value, False, "/srv/web.sls", 3)
    joined = join(two_hosts(requisite, "postgresql"), lambda _: [])
    assert list(joined.goes) == ["db1"]
    assert list(joined.blocked) == ["web1"]
    words = joined.blocked["web1"]
    assert "web1:/srv/web.sls:3" in words
    assert message in words
    assert hint in words


@pytest.mark.parametrize(("value", "code"), [("x", "E312"), ("qqqqq", "E311")])
def test_a_missing_target_is_an_error_with_host_file_and_line_if_no_host_is_left(value, code):
    there = "db1" if code == "E312" else "nowhere"
    plans = {
        host: msgspec.structs.replace(
            two_hosts(RemoteRequisite(0, "require", other, "test", value, False, "/srv/s.sls", 3))["web1"], host=host
        )
        for host, other in (("web1", there), ("db1", "web1" if code == "E312" else there))
    }
    with pytest.raises(CompileError) as caught:
        join(plans, lambda _: [])
    assert [(issue.file, issue.line, issue.code) for issue in caught.value.issues] == [
        ("db1:/srv/s.sls", 3, code),
        ("web1:/srv/s.sls", 3, code),
    ]


def test_a_host_that_fits_and_is_not_part_of_the_run_is_named():
    requisite = RemoteRequisite(0, "require", "db*", "test", "x", False, "/srv/web.sls", 3)
    with pytest.raises(CompileError) as caught:
        join({"web1": two_hosts(requisite)["web1"]}, lambda _: ["db2", "db1"])
    assert caught.value.issues[0].hint == "db1, db2 would fit, but the run is without: add it to the target"


def test_an_expression_that_is_none_is_an_error_with_host_file_and_line():
    def match(expression):
        raise FleetError(f"the target {expression!r} is not one")

    requisites = [
        RemoteRequisite(0, kind, "db1 and", "id", "x", False, "/srv/web.sls", 3) for kind in ("require", "watch")
    ]
    plans = two_hosts(requisites[0])
    plans["web1"] = msgspec.structs.replace(plans["web1"], requires=tuple(requisites))
    words = join(plans, match).blocked["web1"]
    assert words.count("web1:/srv/web.sls:3") == 1
    assert "[require: {host: db1 and, id: x}] in state [site] in SLS [s] of host web1: the target 'db1 and'" in words
    assert "compound target" in words


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("id", "a1", ["a1"]),
        ("test", "a?", ["a1", "a2"]),
        ("sls", "s", ["a1", "a2", "[a]"]),
        ("id", "[a]", ["[a]"]),
        ("sls", "?", ["a1", "a2", "[a]"]),
    ],
)
def test_states_are_named_by_module_id_and_sls_exactly_before_by_glob(key, value, found):
    requisite = RemoteRequisite(0, "require", "G@role:db", key, value)
    asked = []
    goes = join(
        two_hosts(requisite, "a1", "a2", "[a]"), lambda expression: asked.append(expression) or ["db1", "web1"]
    ).goes
    assert [each.state.id for each in goes["web1"].remote] == found
    assert asked == ["G@role:db"]


def test_every_mistake_of_every_host_is_told():
    mistake = Mistake("oh no", "a.sls", 3, "do this", "E305")
    bad = {host: HostPlan(host=host, nonce="n", mistakes=(mistake,)) for host in "ab"}
    with pytest.raises(CompileError) as caught:
        join(bad, lambda _: [])
    assert [(each.message, each.file, each.line, each.hint, each.code) for each in caught.value.issues] == [
        ("a: oh no", "a:a.sls", 3, "do this", "E305"),
        ("b: oh no", "b:a.sls", 3, "do this", "E305"),
    ]


def test_many_states_of_other_hosts_are_one_set():
    requisite = RemoteRequisite(0, "require_any", "db1", "sls", "s")
    plans = two_hosts(requisite, *(f"x{number}" for number in range(20)))
    web = msgspec.structs.replace(PlanBuilder().chunk("site").build(), remote=(requisite,))
    part = partition_of(
        web, RedactedPlan(web, Secrets()), join(plans, lambda host: [host]).goes["web1"], can_watch=lambda _: True
    )
    assert len(part.plan.requisites[0]) == 1
    assert len(part.plan.elsewhere) == 20


def test_a_module_that_cannot_watch_requires_what_another_host_adds():
    fleet = Fleet([("a", "h1", []), ("b", "h2", [("watch", "a", True)])])
    plans = {host: fleet.plan(host) for host in fleet.hosts}
    go = join({host: published(plan, host) for host, plan in plans.items()}, lambda _: fleet.hosts).goes["h2"]
    assert (
        partition_of(plans["h2"], RedactedPlan(plans["h2"], Secrets()), go, can_watch=lambda _: False)
        .plan.requisites[0][0]
        .kind
        is RequisiteKind.REQUIRE
    )
    assert (
        partition_of(plans["h2"], RedactedPlan(plans["h2"], Secrets()), go, can_watch=lambda _: True)
        .plan.requisites[0][0]
        .kind
        is RequisiteKind.WATCH
    )


def test_a_go_for_another_plan_or_with_unknown_states_is_refused():
    fleet = Fleet([("a", "h1", []), ("b", "h2", [("require", "a", False)])])
    plan = fleet.plan("h2")
    go = join({host: published(fleet.plan(host), host) for host in fleet.hosts}, lambda _: fleet.hosts).goes["h2"]
    with pytest.raises(MessageRefused, match="another plan"):
        partition_of(
            plan, RedactedPlan(plan, Secrets()), msgspec.structs.replace(go, digest="x"), can_watch=lambda _: True
        )
    wait = msgspec.structs.replace(go.waits[0], chunk=7)
    with pytest.raises(MessageRefused, match="has not"):
        partition_of(
            plan, RedactedPlan(plan, Secrets()), msgspec.structs.replace(go, waits=(wait,)), can_watch=lambda _: True
        )
