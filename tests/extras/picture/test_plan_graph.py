from __future__ import annotations

import json
import re

import pytest
from report_page import Page
from tables import beside

from asyncstate.extras.picture.picture import dot, html, mermaid
from asyncstate.extras.picture.plan_graph import graph_data, graph_edges, picture_of
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.encode import json_bytes
from asyncstate.model.plan import ContingentEdge, Node, NodeKind, Plan

TABLES = beside(__file__)

DRAWN = {"dot": dot, "mermaid": mermaid, "html": lambda picture: html(picture, "plan")}
FORMS = (*DRAWN, "json")


def shown(plan, form, *, every_edge=True):
    if form == "json":
        return json_bytes(graph_data(plan, every_edge=every_edge)).decode()
    picture = picture_of(plan)
    return DRAWN[form](picture if every_edge else picture.reduced())


def chunk(index, id_):
    return LowChunk(index, "test", "nop", id_, id_, "s", "base", 10000, {}, file="/s.sls", declared=index + 1)


@pytest.fixture
def plan():
    chunks = (chunk(0, "a"), chunk(1, 'say "hi" <b> # \\'), chunk(2, "c"))
    nodes = (
        *(Node(NodeKind.CHUNK, number) for number in range(3)),
        Node(NodeKind.CHECK, 2),
        Node(NodeKind.SET, members=(0, 1), label="sls: s"),
        Node(NodeKind.STAGE),
        Node(NodeKind.GROUP, members=(0, 1)),
    )
    dag = Dag(len(nodes))
    dag.add(0, 1, "require")
    dag.add(0, 1, "footprint", ("path:/a",))
    dag.add(1, 2, "footprint", ("path:/etc/x", "pkgdb"))
    dag.add(5, 2, "stage")
    dag.add(3, 0, "prereq")
    dag.add(4, 2, "set")
    dag.add(6, 0, "group")
    return Plan(chunks, nodes, ((), (), ()), (0, 1, 2), dag, (ContingentEdge(0, 2, 1, ("path:/d",)),), digest="d")


def test_a_requisite_decides_how_an_edge_is_drawn(plan):
    families = {(edge.before, edge.after): edge.family for edge in graph_edges(plan)}
    assert families == {
        (0, 1): "requisite",
        (1, 2): "footprint",
        (5, 2): "stage",
        (3, 0): "requisite",
        (4, 2): "set",
        (6, 0): "group",
    }


def test_dot(plan):
    text = shown(plan, "dot")
    assert '  n1 [label="test.nop: say \\"hi\\" <b> # \\\\", shape=box, style=rounded];' in text
    assert '  n0 -> n1 [style=solid, color="#52606d", label="require, path:/a", fontsize=8];' in text
    assert '  n1 -> n2 [style=dashed, color="#a0761c", label="path:/etc/x, pkgdb", fontsize=8];' in text
    assert text.startswith("digraph plan {")
    assert text.endswith("}\n")


def test_mermaid(plan):
    lines = shown(plan, "mermaid").splitlines()
    assert lines[0] == "flowchart LR"
    assert '  n1["test.nop: say #quot;hi#quot; #lt;b#gt; #35; \\"]' in lines
    assert '  n3[/"check test.nop: c"/]' in lines
    assert "  n0 -->|require, path:/a| n1" in lines
    assert "  n1 -.->|path:/etc/x, pkgdb| n2" in lines
    assert "  n5 ==> n2" in lines


def test_every_reason_is_drawn_in_its_own_way(plan):
    drawn = {line.split("[", 1)[1].partition(", label")[0] for line in shown(plan, "dot").splitlines() if "->" in line}
    assert len(drawn) == 6
    arrows = {
        line.split()[1].partition("|")[0]
        for line in shown(plan, "mermaid").splitlines()
        if re.match(r"  n\d+ [-=]", line)
    }
    assert arrows == {"-->", "==>", "-.->", "--o", "---"}


def test_json(plan):
    data = json.loads(shown(plan, "json"))
    assert data["digest"] == "d"
    assert data["contingent"] == [{"before": 0, "after": 2, "proof": 1, "resources": ["path:/d"]}]
    assert data["nodes"][0] == TABLES["json"]
    assert data["nodes"][4] == {"id": 4, "kind": "set", "label": "sls: s", "members": [0, 1]}
    edge = {"before": 0, "after": 1, "sources": ["require", "footprint"], "resources": ["path:/a"]}
    assert edge in data["edges"]


def test_the_page_has_every_state_with_its_place_and_every_edge_with_its_reasons(plan):
    page = Page(shown(plan, "html"))
    states = [(each["function"], each["id"], each["place"]) for each in page.data["states"]]
    assert states[0] == ("test.nop", "a", "/s.sls:1")
    assert len(states) == 3
    assert page.data["joints"] == ["check test.nop: c", "sls: s", "stage", "aggregate"]
    drawn = page.joined() | page.joined(needed=False)
    assert len(drawn) == len({(edge.before, edge.after) for edge in graph_edges(plan)})
    assert drawn["a", 'say "hi" <b> # \\'] == ["require, footprint, path:/a", "requisite"]
    assert ("span", {"class": "verdict "}) in [(name, dict(each)) for name, each in page.outline.elements]


def test_an_empty_plan_can_be_drawn():
    empty = Plan((), (), (), (), Dag(0))
    assert all(shown(empty, form) for form in FORMS)
    assert Page(shown(empty, "html")).data["states"] == []


def test_edges_that_follow_from_others_are_left_out_if_asked():
    names = "abcd"
    chunks = tuple(chunk(number, name) for number, name in enumerate(names))
    dag = Dag(4)
    for before, after, why in (
        (0, 1, "require"),
        (1, 2, "watch"),
        (0, 2, "require"),
        (0, 3, "footprint"),
        (2, 3, "stage"),
    ):
        dag.add(before, after, why)
    plan = Plan(chunks, tuple(Node(NodeKind.CHUNK, number) for number in range(4)), ((),) * 4, (0, 1, 2, 3), dag)
    fewer, every = (json.loads(shown(plan, "json", every_edge=each))["edges"] for each in (False, True))
    assert [(each["before"], each["after"]) for each in fewer] == [(0, 1), (1, 2), (2, 3)]
    assert len(every) == 5
    for form, arrow in (("dot", " -> "), ("mermaid", "  n")):
        few, all_ = (shown(plan, form, every_edge=each).count(arrow) for each in (False, True))
        assert all_ - few == 2
