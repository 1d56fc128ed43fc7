import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder
from tables import beside

from asyncstate.errors import PlanError
from asyncstate.model.result import Outcome
from asyncstate.plans import record
from asyncstate.plans.inputs import Key
from asyncstate.plans.record import decode, encode
from asyncstate.plans.recording import PlanRecorder
from asyncstate.redact import Secrets
from asyncstate.run.machine import Machine

TABLES = beside(__file__)

PLAN = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c").set("all", "a", "b").listen("c", "a").build()
RECORD = PlanRecorder(PLAN, Secrets(), Key(b"k" * 32)).record()
TEXT = encode(RECORD)

NUMBERS = st.integers(-2, 6)


def test_a_record_is_read_as_it_was_written():
    assert decode(TEXT) == RECORD
    assert decode(encode(RECORD, indent=2)) == RECORD


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no plan"),
        (b"\x00\xff", "no plan"),
        (b"[]", "no plan"),
        (b"{}", "no plan"),
        (TEXT[:-10], "not all of one"),
        (TEXT.replace(b'"version":1', b'"version":2'), "version 2; this asyncstate reads version 1"),
        (TEXT.replace(b'"version":1', b'"version":"x"'), "no plan"),
        (b"[" * 100_000, "no plan"),
        (b'{"version":1,"chunks":[{"tag":' + b"[" * 100_000, "no plan"),
        (TEXT.replace(b'"rank":[', b'"rank":[1,'), "5 nodes, but 6 places"),
    ],
    ids=range(10),
)
def test_what_is_no_plan_is_one_clear_error(data, said):
    with pytest.raises(PlanError, match=said) as error:
        decode(data, "web.plan")
    assert str(error.value).startswith("web.plan: ")
    assert "--plan-out" in str(error.value)


def test_a_huge_document_is_refused_unread(monkeypatch):
    monkeypatch.setattr(record, "LARGEST", 1000)
    with pytest.raises(PlanError, match="it has more than"):
        record.require_bounds(b" " * 1001, "x")
    record.require_bounds(b" " * 1000, "x")
    monkeypatch.setattr(record, "_MOST_VALUES", 100)
    with pytest.raises(PlanError, match="more than 100 values"):
        record.require_bounds(b"[" * 101, "x")


@pytest.mark.parametrize(("change", "said"), TABLES["a spoiled graph is refused"], ids=range(7))
def test_a_spoiled_graph_is_refused(change, said):
    body = msgspec.json.decode(TEXT)
    with pytest.raises(PlanError, match=said):
        decode(msgspec.json.encode(body | change))


@given(st.binary(max_size=40), st.integers(0, len(TEXT)), st.integers(0, 40))
def test_any_bytes_are_a_plan_or_a_plan_error(noise, at, gone):
    try:
        decode(TEXT[:at] + noise + TEXT[at + gone :])
    except PlanError:
        return


@given(
    edges=st.lists(st.tuples(NUMBERS, NUMBERS, st.just(("require",))), max_size=6),
    contingent=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=3),
    nodes=st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["check", "set", "stage", "group", "listener"]),
                "chunk": NUMBERS,
                "members": st.lists(NUMBERS, max_size=3),
                "transaction": st.booleans(),
            }
        ),
        max_size=3,
    ),
    requisites=st.lists(st.tuples(st.sampled_from(["require", "prereq", "onfail", "listen"]), NUMBERS), max_size=3),
    result=st.booleans(),
)
def test_what_is_accepted_runs_to_its_end(edges, contingent, nodes, requisites, result):
    body = msgspec.json.decode(TEXT)
    body |= {"edges": edges, "contingent": contingent, "nodes": nodes, "rank": list(range(3 + len(nodes)))}
    body["chunks"][0]["requisites"] = requisites
    try:
        record = decode(msgspec.json.encode(body))
    except PlanError:
        return
    machine = Machine(record.plan())
    while (work := machine.take()) is not None:
        machine.done(work.node, Outcome(result=result, changed=result))
    assert machine.finished
