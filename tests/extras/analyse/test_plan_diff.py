import json
import re

import pytest
from plans import PlanBuilder

from asyncstate.extras.analyse.plan_diff import MOST, diff_data, diff_lines, summary, to_mermaid
from asyncstate.model.encode import json_bytes
from asyncstate.plans.comparison import compare
from asyncstate.plans.inputs import Key
from asyncstate.plans.recording import PlanRecorder
from asyncstate.redact import Secrets
from asyncstate.report.terminal import COLOURED, without_control

KEY = Key(b"k" * 32)


def record(builder, key=KEY):
    return PlanRecorder(builder.build(), Secrets(), key).record()


BEFORE = record(PlanBuilder().chunk("a").chunk("gone", require=["a"]).chunk("b", args={"x": 1}, require=["a"]))
AFTER = record(
    PlanBuilder()
    .chunk("a")
    .chunk("b", args={"x": 2}, require=["a"])
    .set("sls: web", "b")
    .chunk("new", require=["sls: web"])
)


def picture(before, after):
    return to_mermaid(before, after, compare(before, after))


def parsed(text):
    """Return the nodes (label: class) and the edges (labels: arrow) of a flow chart; fail for a line of no such kind."""
    head, *lines = text.splitlines()
    assert head == "flowchart LR"
    nodes, names, edges, styles = {}, {}, [], []
    for line in lines:
        if node := re.fullmatch(r'  (\w+)\["([^"\n]*)"\]:::(\w+)', line):
            names[node[1]] = node[2]
            nodes[node[2]] = node[3]
        elif edge := re.fullmatch(r"  (\w+) (-->|-\.->) (\w+)", line):
            edges.append((names[edge[1]], names[edge[3]]))
        elif style := re.fullmatch(r"  linkStyle (\d+) ([\w:#,-]+(?: \d)?)", line):
            styles.append((int(style[1]), style[2]))
        else:
            assert re.fullmatch(r"  classDef (added|removed|changed|kept) [\w:#,\- ]+", line), line
    return nodes, edges, {edges[number]: style for number, style in styles}


def test_a_picture_has_what_differs_and_what_is_beside_it():
    nodes, edges, styles = parsed(picture(BEFORE, AFTER))
    assert nodes == {
        "(+) test.nop: new": "added",
        "(-) test.nop: gone": "removed",
        "(~) test.nop: b": "changed",
        "test.nop: a": "kept",
    }
    assert set(edges) == {
        ("test.nop: a", "(-) test.nop: gone"),
        ("test.nop: a", "(~) test.nop: b"),
        ("(~) test.nop: b", "(+) test.nop: new"),
    }
    assert styles.keys() == {("test.nop: a", "(-) test.nop: gone"), ("(~) test.nop: b", "(+) test.nop: new")}


def test_equal_plans_have_a_picture_too():
    assert parsed(picture(AFTER, AFTER))[0] == {"no state differs": "kept"}


@pytest.mark.parametrize("name", ['"quoted"', "a --> b", "<b>&#35;", "line\nbreak", "]:::x", "a|b`c`{d}"])
def test_no_name_breaks_the_picture(name):
    after = record(PlanBuilder().chunk("a").chunk(name, require=["a"]))
    nodes, _, _ = parsed(picture(record(PlanBuilder().chunk("a")), after))
    assert list(nodes.values()) == ["added", "kept"]


def test_a_picture_is_not_larger_than_can_be_read():
    builder = PlanBuilder()
    for number in range(500):
        builder.chunk(f"s{number}", **({"require": [f"s{number - 1}"]} if number else {}))
    nodes, _, _ = parsed(picture(record(PlanBuilder()), record(builder)))
    assert len(nodes) == MOST + 1
    assert f"… and {500 - MOST} more states" in nodes


def test_lines_have_colours_and_a_summary():
    lines = list(diff_lines(compare(BEFORE, AFTER), COLOURED))
    assert without_control(lines[0]) == "\x1b[32m+ test.nop: new in s\x1b[0m"
    assert lines[-1].startswith("1 state added, 1 state removed, 1 state changed")
    assert list(diff_lines(compare(AFTER, AFTER))) == ["The plans are the same."]


def test_escape_sequences_do_not_reach_the_terminal():
    after = record(PlanBuilder().chunk("a\x1b[2J\x07", args={"x": "\x1b[31m"}))
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", "\n".join(diff_lines(compare(record(PlanBuilder()), after))))


def test_plans_of_two_keys_say_what_is_not_compared():
    other = record(PlanBuilder().chunk("a"), Key(b"l" * 32))
    found = compare(record(PlanBuilder().chunk("a")), other)
    assert "different keys" in "\n".join(diff_lines(found))
    assert summary(found) == "What the plans show is the same."


def test_data_is_plain():
    data = json.loads(json_bytes(diff_data(compare(BEFORE, AFTER))))
    assert (data["same"], data["comparable"]) == (False, True)
    assert data["changed"] == [
        {"tag": "test_|-b_|-b_|-nop", "sls": "s", "arguments": [{"name": "x", "before": 1, "after": 2}]}
    ]
