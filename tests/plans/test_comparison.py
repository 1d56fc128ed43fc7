import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder
from strategies import high_data
from trees import compiler

from asyncstate.model.encode import json_bytes
from asyncstate.plans.comparison import Move, compare
from asyncstate.plans.inputs import Key
from asyncstate.plans.record import Inputs, Selection
from asyncstate.plans.recording import PlanRecorder, Treatment
from asyncstate.redact import Secrets

KEY, OTHER_KEY = Key(b"k" * 32), Key(b"l" * 32)


def record(builder, key=KEY, secrets=(), **more):
    return PlanRecorder(builder.build(), Secrets(secrets), key, **more).record()


def base(**args):
    return PlanBuilder().chunk("a").chunk("b", "file.managed", name="/b", args={"mode": "0644", **args}, require=["a"])


def tag(id_, function="test.nop", name=None):
    state, fun = function.split(".")
    return f"{state}_|-{id_}_|-{name or id_}_|-{fun}"


B = tag("b", "file.managed", "/b")


@given(high_data(listen=True))
def test_a_plan_does_not_differ_from_itself(high):
    first, again = (PlanRecorder(compiler({}).plan_high(high), Secrets(), KEY).record() for _ in range(2))
    assert first == again
    assert not compare(first, again).any


def test_states_that_come_and_go_are_named():
    found = compare(record(base().chunk("c")), record(base().chunk("d")))
    assert ([each.tag for each in found.added], [each.tag for each in found.removed]) == ([tag("d")], [tag("c")])
    assert found.of_states
    assert not found.changed
    assert not found.moved


@pytest.mark.parametrize(
    ("change", "name", "before", "after"),
    [
        ({"mode": "0600"}, "mode", "0644", "0600"),
        ({"mode": 644}, "mode", "0644", 644),
        ({"makedirs": True}, "makedirs", msgspec.UNSET, True),
    ],
)
@pytest.mark.parametrize("key", [KEY, OTHER_KEY], ids=["one key", "two keys"])
def test_an_argument_that_changes_is_named(key, change, name, before, after):
    [changed] = compare(record(base()), record(base(**change), key)).changed
    [argument] = changed.arguments
    assert (changed.tag, argument.name, argument.before, argument.after) == (B, name, before, after)


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0, False), ({1: 2}, {"1": 2}), ([1], ["1"])])
def test_values_that_python_takes_for_equal_differ(before, after):
    [changed] = compare(record(base(x=before)), record(base(x=after))).changed
    assert [each.name for each in changed.arguments] == ["x"]


def test_a_secret_that_changes_is_named_and_not_shown():
    secrets = ["hunter2", "correct horse"]
    before, after = (record(base(password=word), secrets=secrets) for word in secrets)
    found = compare(before, after)
    [changed] = found.changed
    assert [(each.name, each.hidden) for each in changed.arguments] == [("password", True)]
    assert b"hunter2" not in json_bytes(found)


def test_secrets_cannot_be_compared_under_two_keys():
    before, after = (record(base(password=word), key, [word]) for word, key in (("hunter2", KEY), ("horse", OTHER_KEY)))
    found = compare(before, after)
    assert not found.comparable
    assert not found.changed


def test_a_state_with_another_name_is_the_same_state():
    before = PlanBuilder().chunk("a", name="/x").chunk("b", require=["a"])
    after = PlanBuilder().chunk("a", name="/y").chunk("b", require=["a"])
    found = compare(record(before), record(after))
    assert not found.added
    assert not found.edges_added
    assert (found.changed[0].tag, found.changed[0].was) == (tag("a", name="/y"), tag("a", name="/x"))


def test_an_edge_that_comes_or_goes_is_named():
    without = PlanBuilder().chunk("a").chunk("b")
    with_ = PlanBuilder().chunk("a").chunk("b", watch=["a"])
    found = compare(record(without), record(with_))
    [edge] = found.edges_added
    assert (edge.before, edge.after, edge.source, edge.between_kept) == (tag("a"), tag("b"), "watch", True)
    [edge] = compare(record(with_), record(without)).edges_removed
    assert edge.source == "watch"


def test_an_edge_to_a_new_state_says_so():
    found = compare(record(PlanBuilder().chunk("a")), record(PlanBuilder().chunk("a").chunk("b", require=["a"])))
    assert [edge.between_kept for edge in found.edges_added] == [False]


def test_a_set_that_has_another_member_is_named():
    def with_members(*members):
        return PlanBuilder().chunk("a").chunk("b").set("sls: web", *members).chunk("c", require=["sls: web"])

    found = compare(record(with_members("a")), record(with_members("a", "b")))
    assert [each.tag for each in found.changed] == [tag("c")]
    assert found.changed[0].arguments[0].after == [tag("a"), tag("b")]


@given(st.permutations(range(8)))
def test_the_fewest_states_that_moved_are_named(order):
    def built(numbers):
        builder = PlanBuilder()
        for number in numbers:
            builder.chunk(f"s{number}")
        return record(builder)

    found = compare(built(range(8)), built(order))
    assert (not found.moved) == (order == list(range(8)))
    moved = {move.tag for move in found.moved}
    rest = [number for number in order if tag(f"s{number}") not in moved]
    assert rest == sorted(rest)


def test_a_move_says_where_from_and_where_to():
    before, after = PlanBuilder().chunk("a").chunk("b").chunk("c"), PlanBuilder().chunk("c").chunk("a").chunk("b")
    assert compare(record(before), record(after)).moved == (Move(tag("c"), tag("b"), ""),)


def test_how_a_run_treats_a_state_is_compared():
    found = compare(record(base()), record(base(), treatment=Treatment(frozenset({0}), frozenset(), {1: ("disk",)})))
    assert [(each.tag, each.arguments[0].name) for each in found.changed] == [(tag("a"), "failhard"), (B, "lanes")]


def test_inputs_and_the_selection_are_compared():
    before = record(base(), inputs=Inputs(pillar={"a": "1", "b": "2"}), selection=Selection(sls=("web",)))
    after = record(base(), inputs=Inputs(pillar={"b": "3", "c": "4"}), selection=Selection(sls=("db",)))
    found = compare(before, after)
    assert {(each.kind, each.name, each.how) for each in found.inputs} == {
        ("pillar", "a", "removed"),
        ("pillar", "b", "changed"),
        ("pillar", "c", "added"),
    }
    assert [(each.name, each.before, each.after) for each in found.selection] == [("sls", ["web"], ["db"])]
    assert not found.of_plan
    assert found.any


@given(high_data(max_size=6), st.data())
def test_what_changes_in_a_tree_is_found_and_named(high, data):
    ids = sorted(high)
    id_ = data.draw(st.sampled_from(ids))
    state = next(key for key in high[id_] if not key.startswith("__"))
    edited = {**high, id_: {**high[id_], state: [*high[id_][state], {"added_argument": 1}]}}
    before, after = (PlanRecorder(compiler({}).plan_high(each), Secrets(), KEY).record() for each in (high, edited))
    found = compare(before, after)
    assert found.changed
    assert {argument.name for each in found.changed for argument in each.arguments} == {"added_argument"}
    assert {chunk.id for chunk in after.chunks if chunk.tag in {each.tag for each in found.changed}} == {id_}
