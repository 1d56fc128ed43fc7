import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from plans import PlanBuilder
from strategies import high_data
from tables import beside
from trees import compiler, plan

from asyncstate.plans.comparison import compare
from asyncstate.plans.inputs import Key
from asyncstate.plans.record import Inputs, Selection
from asyncstate.plans.recording import PlanRecorder, Treatment
from asyncstate.plans.words import difference_lines
from asyncstate.redact import Secrets

CASES = beside(__file__)
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


@pytest.mark.parametrize("name", CASES)
def test_differences_of_two_trees(name):
    case = CASES[name]
    before, after, elsewhere = (
        PlanRecorder(plan(case[text]), Secrets(["hunter2", "correct horse"]), key).record()
        for text, key in (("before", KEY), ("after", KEY), ("after", OTHER_KEY))
    )
    found = compare(before, after)
    shown = "".join(f"{'  ' * line.depth}{line.mark} {line.text}\n" for line in difference_lines(found))
    assert shown == case["shows"].replace("HIDDEN", said("hidden-argument"))
    assert found.any == found.of_plan == bool(shown)
    assert found.of_states == any(line.startswith(("+ test.nop: ", "- test.nop: ", "~")) for line in shown.splitlines())
    other = compare(before, elsewhere)
    if other.comparable:
        assert other == found


def test_secrets_cannot_be_compared_under_two_keys():
    before, after = (record(base(password=word), key, [word]) for word, key in (("hunter2", KEY), ("horse", OTHER_KEY)))
    found = compare(before, after)
    assert not found.comparable
    assert not found.changed


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
