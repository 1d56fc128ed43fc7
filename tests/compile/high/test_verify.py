import pytest
from messages import said
from record_answers import recorded
from trees import mistakes, plan

from asyncstate.compile.findings import Findings
from asyncstate.compile.high.highstate import HighData
from asyncstate.compile.high.verify import verify_high

MISTAKES = {text: told for text, told in recorded("low").items() if all(isinstance(each, str) for each in told)}
OURS = {"a: {test.nop: [{x: 1, require: b}]}": "E301", "a: {test.nop: [{require: [{}]}]}": "E302"}
"""Salt overlooks a requisite behind another key, whose letters it then takes for IDs; and it shows a type of Python's."""


@pytest.mark.parametrize(("text", "told"), MISTAKES.items())
def test_mistakes_are_told_in_salts_words_or_better(text, told):
    found = mistakes(text + "\n")
    if text in OURS:
        assert [issue.code for issue in found] == [OURS[text]]
    assert ([issue.message for issue in found] == told) == (text not in OURS)
    assert all(issue.file.endswith("/s.sls") for issue in found)


def test_the_line_is_that_of_the_state():
    [issue] = mistakes("ok: test.nop\na:\n  cmd.run: []\n  test:\n    - x: 1\n")
    assert issue.line == 4


def test_a_line_of_a_loop_is_named_once():
    loop = "{% for id in ('a', 'b') %}\n{{ id }}:\n  test.nop:\n    - x: 1\n      y: 2\n{% endfor %}\n"
    assert [issue.code for issue in plan(loop).warnings] == ["W113"]


def check(data):
    findings = Findings()
    verify_high(HighData(data, findings), findings)
    return [(issue.code, issue.message) for issue in findings.errors]


def test_high_data_that_never_was_an_sls():
    assert check([]) == [("E215", said("no-high-data"))]
    assert check({"a": 5}) == [("E202", said("no-body", id="a", value=5))]
    assert [code for code, _ in check({"a": {"test.nop": ["x"]}})] == ["E207"]
    assert check({"__extend__": [], "a": {"test.nop": []}}) == []
