from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PlanBuilder
from strategies import high_data
from tables import beside
from trees import FakeStates, compiler

from asyncstate.model.result import Outcome
from asyncstate.plans.inputs import Key
from asyncstate.plans.record import PlanRecord, decode, encode
from asyncstate.plans.recording import PlanRecorder, Treatment
from asyncstate.redact import Secrets
from asyncstate.run.machine import Machine

TABLES = beside(__file__)

KEY = Key(b"k" * 32)
SECRET = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8, max_size=20).map(
    lambda text: f"S3{text.strip()}3S"
)


def record(plan, secrets=(), **more) -> PlanRecord:
    return PlanRecorder(plan, Secrets(secrets), KEY, **more).record()


def order_of(machine):
    order = []
    while (work := machine.take()) is not None:
        order.append(work)
        machine.done(work.node, Outcome(result=True, changed=True))
    return order


@settings(max_examples=60)
@given(high_data(listen=True))
def test_a_machine_does_the_same_with_a_plan_and_with_what_is_read_of_its_record(high):
    plan = compiler({}, states=FakeStates("test.mod_watch", "pkg.mod_aggregate"), state_aggregate=True).plan_high(high)
    again = decode(encode(record(plan))).plan()
    machine = Machine(again)
    assert order_of(machine) == order_of(Machine(plan))
    assert machine.finished
    assert not machine.stalled


def test_a_record_has_what_a_machine_needs():
    plan = (
        PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").chunk("d", prereq=["b"]).group("a", "c").build()
    )
    treated = record(plan, treatment=Treatment(frozenset({0}), frozenset({1}), {2: ("disk",)}, {"disk": 2}))
    assert (treated.failhard, treated.exclusive, treated.lanes_of, treated.lanes) == (
        {0},
        {1},
        {2: ("disk",)},
        {"disk": 2},
    )
    again = decode(encode(treated)).plan()
    assert (again.nodes, again.rank, again.requisites) == (plan.nodes, plan.rank, plan.requisites)
    assert list(again.dag.edges()) == list(plan.dag.edges())


def test_chunks_say_where_they_are_declared():
    [chunk] = record(PlanBuilder().chunk("a", "file.managed", name="/etc/x").build()).chunks
    assert (chunk.function, chunk.place) == ("file.managed", "")


@pytest.mark.parametrize("name", ["args", "name"])
@given(SECRET, st.data())
def test_no_secret_is_in_the_document(name, secret, data):
    where = data.draw(st.sampled_from(["value", "key", "nested", "id"]))
    args = {"value": {"x": secret}, "key": {secret: "x"}, "nested": {"x": [{"y": secret}]}, "id": {}}[where]
    plan = (
        PlanBuilder()
        .chunk(secret if where == "id" else "a", name=secret if name == "name" else "n", args=args)
        .chunk("b", args={"require": [{"test": secret}], "note": f"uses {secret}."})
        .build()
    )
    written = encode(record(plan, [secret])).decode()
    assert secret not in written
    assert secret not in written.encode().decode("unicode_escape", "replace")


@given(SECRET)
def test_what_no_log_hides_is_not_in_the_document(secret):
    plan = (
        PlanBuilder()
        .chunk("a", "cmd.run", name=f"echo {secret}", args={"no_log": True, "env": [{"P": secret}], "stdin": secret})
        .chunk("b", require=["a"], args={"require": [{"cmd": f"echo {secret}"}]})
        .build()
    )
    assert secret not in encode(record(plan)).decode()


def test_a_secret_has_digests_that_differ_by_key_and_by_place():
    plan = PlanBuilder().chunk("a", args={"p": "hunter2", "q": "hunter2"}).build()
    first = record(plan, ["hunter2"]).chunks[0]
    other = PlanRecorder(plan, Secrets(["hunter2"]), Key(b"l" * 32)).record().chunks[0]
    assert first.hidden.keys() == {"p", "q"}
    assert len({*first.hidden.values(), *other.hidden.values(), first.digest, other.digest}) == 6


def test_the_digest_of_a_chunk_does_not_depend_on_its_place():
    alone = record(PlanBuilder().chunk("b", args={"x": 1}).build()).chunks[0]
    later = record(PlanBuilder().chunk("a").chunk("b", args={"x": 1}).build()).chunks[1]
    assert alone.digest == later.digest


@pytest.mark.parametrize("changed", TABLES["the digest of a chunk changes with what it does"], ids=str)
def test_the_digest_of_a_chunk_changes_with_what_it_does(changed):
    def digest(**more):
        return record(PlanBuilder().chunk("a").chunk("b", **{"args": {"x": 1}, **more}).build()).chunks[1].digest

    assert digest(**changed) != digest()


def test_the_digest_of_a_chunk_changes_with_the_members_of_what_it_requires():
    def digest(*members):
        plan = PlanBuilder().chunk("a").chunk("b").set("all", *members).chunk("c", require=["all"]).build()
        return record(plan).chunks[2].digest

    assert digest("a") != digest("a", "b")


def test_odd_values_have_a_record():
    odd = {1: "int", "when": date(2020, 1, 1), "raw": b"\xff", "many": {3, 1}, "nan": float("nan")}
    wrapped = {"odd": odd, "large": 1 << 80}
    first = record(PlanBuilder().chunk("a", args=wrapped).build())
    assert decode(encode(first)) == first
    assert first.chunks[0].hidden.keys() >= {"odd"}
    other = record(PlanBuilder().chunk("a", args={**wrapped, "odd": {**odd, "when": "2020-01-01"}}).build())
    assert other.chunks[0].args == first.chunks[0].args
    assert other.chunks[0].digest != first.chunks[0].digest
    assert other.chunks[0].hidden["odd"] != first.chunks[0].hidden["odd"]
