import pytest
from record_answers import recorded
from trees import chunk_of, ids, messages, plan, warnings

from asyncstate.compile.findings import Findings
from asyncstate.compile.high.declarations import merge_requisite, take_excludes, take_extends


def test_a_requisite_directly_under_an_id_holds_for_every_state_of_it():
    tree = """
web:
  require: [{test: first}]
  watch_in: [{test: last}]
  test.nop: []
  cmd.run: [{require: [{test: second}]}]
first: test.nop
second: test.nop
last: test.nop
"""
    compiled = plan(tree)
    lows = {chunk.state: chunk.args for chunk in compiled.chunks if chunk.id == "web"}
    assert lows["test"]["require"] == [{"test": "first"}]
    assert lows["cmd"]["require"] == [{"test": "second"}, {"test": "first"}]
    assert chunk_of(compiled, "last").args["watch"] == [{"test": "web"}, {"cmd": "web"}]
    assert ids(compiled)[-1] == "last"


def test_a_requisite_under_an_id_without_states_has_nothing_to_hold_for():
    assert messages("web: {require: [{test: a}]}\na: test.nop\n") == ["No function declared in state 'web' in SLS 's'"]


def test_a_requisite_under_an_id_must_be_a_list_too():
    assert messages("web: {require: a, test.nop: []}\na: test.nop\n") == [
        "The require statement in state 'web' in SLS 's' needs to be formed as a list"
    ]


@pytest.mark.parametrize(
    "body",
    ["{test.nop: [], test.ping: []}", "{test: [nop], test.ping: []}"],
)
def test_two_states_of_one_module(body):
    assert messages(f"a: {body}\n") == ["ID 'a' in SLS 's' contains multiple state declarations of the same type"]


def test_a_dotted_state_takes_the_place_of_one_without_dot_behind_it():
    tree = "a: {test.ping: [], test: [nop]}\n"
    assert [chunk.fun for chunk in plan(tree).chunks] == ["ping"]
    assert warnings(tree) == [
        "'test' in state 'a' in SLS 's' is ignored: 'test.ping' stands before it and takes its place"
    ]


@pytest.mark.parametrize("body", ["null", "[test.nop]", "nodot", "5"])
def test_a_body_that_is_no_dictionary(body):
    assert messages(f"a: {body}\n") == ["ID a in SLS s is not a dictionary"]


def test_a_module_that_is_no_string():
    assert messages("a: {1: [nop]}\n") == ["ID 'a' in SLS 's' declares a state '1' that is not formed as a string"]


def test_more_than_one_dot_runs_as_in_salt_and_is_named():
    tree = "a: test.nop.x\nb: {test.ping.y: []}\n"
    assert [chunk.fun for chunk in plan(tree).chunks] == [low["fun"] for low in recorded("low")[tree]]
    assert warnings(tree) == [
        "'test.nop.x' in state 'a' in SLS 's' has more than one dot; what runs is 'test.nop'",
        "'test.ping.y' in state 'b' in SLS 's' has more than one dot; what runs is 'test.ping'",
    ]


def test_extends_and_excludes_of_the_wrong_shape():
    findings = Findings()
    assert take_extends({"extend": ["x"]}, "s", "base", findings) is None
    assert take_extends({"extend": {"x": "y"}}, "s", "base", findings) == {}
    assert take_excludes({"exclude": "x"}, "s", "base", findings) == []
    assert take_extends({}, "s", "base", findings) is None
    assert [issue.message for issue in findings.errors] == [
        "Extension value in SLS 's' is not a dictionary",
        "Extension name 'x' in SLS 's' is not a dictionary",
        "Exclude Declaration in SLS s is not formed as a list",
    ]


def test_references_go_into_every_block_there_is():
    arguments = ["nop", {"require": ["a"]}, {"require": ["b"]}]
    merge_requisite(arguments, "require", ["c"])
    merge_requisite(arguments, "watch", ["d"])
    assert arguments == ["nop", {"require": ["a", "c"]}, {"require": ["b", "c"]}, {"watch": ["d"]}]
