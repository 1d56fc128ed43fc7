"""Diagnostics sent to an editor, and the times at which they are sent."""

from editor_knowledge import ROOT, knowledge_of
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from asyncstate.extras.editor.messages import Finding, Found
from asyncstate.extras.editor.publishing import Publisher, line_map

PATH = f"{ROOT}/web.sls"
LINES = st.lists(st.sampled_from("abc"), max_size=8)


def finding(rule, line):
    return Finding(rule, f"{rule} is wrong", PATH, line, "", mistake=False)


class Told:
    """A publisher, and the rules with the lines that its editor shows."""

    def __init__(self):
        self.now = {}
        self.publisher = Publisher(
            self.take,
            lambda _, place: types.Range(types.Position(place.line, 0), types.Position(place.line, 1)),
            list,
            str,
        )

    def take(self, params):
        self.now[params.uri] = {(each.code, each.range.start.line + 1) for each in params.diagnostics}

    def look(self, text, *findings, whole):
        self.publisher.take(Found(findings, whole), knowledge_of({"web.sls": text}).tree)
        return self.now.get(PATH, set())


def test_what_is_found_late_moves_with_its_line():
    told = Told()
    early, late, last = finding("e", 1), finding("late", 2), finding("last", 4)
    told.look("a\nb\nc\nd\n", early, whole=False)
    assert told.look("a\nb\nc\nd\n", early, late, last, whole=True) == {("e", 1), ("late", 2), ("last", 4)}
    assert told.look("new\na\nb\nc\nd\n", finding("e", 2), whole=False) == {("e", 2), ("late", 3), ("last", 5)}
    assert told.look("a\nchanged\nd\n", early, whole=False) == {("e", 1), ("last", 3)}
    assert told.look("a\nb\nd\n", early, whole=False) == {("e", 1), ("late", 2), ("last", 3)}
    assert told.look("a\nb\nd\n", early, whole=True) == {("e", 1)}
    assert told.look("b\nd\n", whole=False) == set()


@given(LINES, LINES, LINES, LINES)
def test_a_line_is_followed_past_a_change(above, old, new, below):
    before, after = above + old + below, above + new + below
    line_of = line_map(before, after)
    for line in range(1, len(before) + 1):
        assert line_of(line) == -1 or after[line_of(line) - 1] == before[line - 1]
    assert len({line_of(line) for line in range(1, len(before) + 1)} - {-1}) >= min(
        len(above) + len(below), len(before), len(after)
    )
