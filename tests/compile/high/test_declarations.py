from record_answers import recorded
from trees import plan

from asyncstate.compile.findings import Findings
from asyncstate.compile.high.declarations import merge_requisite, take_excludes, take_extends


def test_more_than_one_dot_runs_as_in_salt_and_is_named():
    tree = "a: test.nop.x\nb: {test.ping.y: []}\n"
    assert [chunk.fun for chunk in plan(tree).chunks] == [low["fun"] for low in recorded("low")[tree]]


def test_extends_and_excludes_of_the_wrong_shape():
    findings = Findings()
    assert take_extends({"extend": ["x"]}, "s", "base", findings) is None
    assert take_extends({"extend": {"x": "y"}}, "s", "base", findings) == {}
    assert take_excludes({"exclude": "x"}, "s", "base", findings) == []
    assert take_extends({}, "s", "base", findings) is None
    assert [issue.code for issue in findings.errors] == ["E216", "E216", "E219"]


def test_references_go_into_every_block_there_is():
    arguments = ["nop", {"require": ["a"]}, {"require": ["b"]}]
    merge_requisite(arguments, "require", ["c"])
    merge_requisite(arguments, "watch", ["d"])
    assert arguments == ["nop", {"require": ["a", "c"]}, {"require": ["b", "c"]}, {"watch": ["d"]}]
