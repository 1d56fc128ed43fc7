import pytest
from record_answers import recorded
from trees import messages, mistakes, plan, warnings

from asyncstate.compile.findings import Findings
from asyncstate.compile.high.highstate import HighData
from asyncstate.compile.high.verify import verify_high

MISTAKES = {text: told for text, told in recorded("low").items() if all(isinstance(each, str) for each in told)}
OURS = {
    "a: {test.nop: [{x: 1, require: b}]}": "The require statement in state 'a' in SLS 's' needs to be formed as a list",
    "a: {test.nop: [{require: [{}]}]}": "Requisite declaration {} in state a in SLS s is not formed as a single key dictionary",
}
"""Salt overlooks a requisite behind another key, whose letters it then takes for IDs; and it shows a type of Python's."""


@pytest.mark.parametrize(("text", "told"), MISTAKES.items())
def test_mistakes_are_told_in_salts_words_or_better(text, told):
    found = mistakes(text + "\n")
    assert [issue.message for issue in found] == ([OURS[text]] if text in OURS else told)
    assert all(issue.file.endswith("/s.sls") for issue in found)
    assert text not in OURS or told != [OURS[text]]


def test_the_line_is_that_of_the_state():
    [issue] = mistakes("ok: test.nop\na:\n  cmd.run: []\n  test:\n    - x: 1\n")
    assert issue.line == 4


def test_nothing_stops_the_check():
    text = "1: {test.nop: []}\na: {test: [x, y]}\nb: {test: {}}\nc: {test.nop: [{require: d}]}\n"
    assert len(messages(text)) == 4


def test_onfail_stop_may_be_a_boolean_or_a_list():
    tree = "a: test.nop\nb: {test.nop: [{onfail: [a]}, {onfail_stop: false}]}\nc: {test.nop: [{onfail_stop: [x]}]}\n"
    assert len(plan(tree).chunks) == 3


def test_a_second_block_of_a_requisite_is_named():
    tree = "a: {test.nop: [{require: [b]}, {require: [c]}]}\nb: test.nop\nc: test.nop\n"
    assert warnings(tree) == ["State 'a' in SLS 's' has more than one 'require' block; only the last one counts"]
    assert plan(tree).warnings[0].line == 1


def test_an_in_requisite_hidden_behind_another_key_is_named():
    tree = "a: {test.nop: [{x: 1, require_in: [b]}]}\nb: test.nop\n"
    assert warnings(tree) == [
        "'require_in' in state 'a' in SLS 's' is ignored: it must be the only key of its list item"
    ]


CROWDED = "a:\n  test.nop:\n    - x: 1\n      y: 2\n"


def test_arguments_that_share_a_list_item_are_named():
    [warning] = plan(CROWDED).warnings
    assert warning.message == (
        "'x', 'y' of state 'a' in SLS 's' share one list item: an 'extend' of 'x' removes the others"
    )
    assert (warning.code, warning.line, warning.hint) == ("W113", 4, "write a dash before 'y', too")
    assert warnings("a:\n  test.nop:\n    - x: 1\n    - y: 2\n") == []


def test_an_extension_of_the_first_of_them_does_remove_the_others():
    extended = "include: [b]\nextend: {{a: {{test: [{{{key}: 3}}]}}}}\n"
    [first] = plan({"s": extended.format(key="x"), "b": CROWDED}).chunks
    [second] = plan({"s": extended.format(key="y"), "b": CROWDED}).chunks
    assert (first.args, second.args) == ({"x": 3}, {"x": 1, "y": 3})


def test_a_line_of_a_loop_is_named_once():
    loop = "{% for id in ('a', 'b') %}\n{{ id }}:\n  test.nop:\n    - x: 1\n      y: 2\n{% endfor %}\n"
    assert [warning[:11] for warning in warnings(loop)] == ["'x', 'y' of"]


@pytest.mark.parametrize("word", ["include", "extend", "exclude"])
@pytest.mark.parametrize("value", ["[b, c]", "{b: 1}", "b", "[{sls: b}]"])
def test_what_belongs_beside_the_ids_is_sent_there(word, value):
    [issue] = mistakes(f"a:\n  test.nop: []\n  {word}: {value}\n")
    assert (issue.line, issue.hint) == (3, f"'{word}' belongs beside the IDs, at the start of a line")


def test_a_wrong_include_is_not_taken_for_an_id():
    [include, id_] = mistakes("include: b\na: test.nop\n")
    assert (include.code, include.hint) == ("E106", "write each name as an item, with a dash")
    assert (id_.message, id_.hint) == ("ID include in SLS s is not a dictionary", "")


def check(data):
    findings = Findings()
    verify_high(HighData(data, findings), findings)
    return [(issue.code, issue.message) for issue in findings.errors]


def test_high_data_that_never_was_an_sls():
    assert check([]) == [("E215", "High data is not a dictionary and is invalid")]
    assert check({"a": 5}) == [("E202", "The type a in 5 is not formatted as a dictionary")]
    assert check({"a": {"test.nop": ["x"]}}) == [
        ("E207", "Too many functions declared in state 'a' in SLS ''. Please choose one of the following: nop, x")
    ]
    assert check({"__extend__": [], "a": {"test.nop": []}}) == []
