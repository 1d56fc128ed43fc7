from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.analyse.graph import FORMATS, graph_edges, to_dot, to_json, to_mermaid, to_svg
from asyncstate.analyse.svg import layers
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import ContingentEdge, Node, NodeKind, Plan


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
    text = to_dot(plan)
    assert '  n1 [label="test.nop: say \\"hi\\" <b> # \\\\", shape=box, style=rounded];' in text
    assert '  n0 -> n1 [style=solid, color="#1f2933", label="require, path:/a", fontsize=8];' in text
    assert '  n1 -> n2 [style=dashed, color="#2b6cb0", label="path:/etc/x, pkgdb", fontsize=8];' in text
    assert text.startswith("digraph plan {")
    assert text.endswith("}\n")


def test_mermaid(plan):
    lines = to_mermaid(plan).splitlines()
    assert lines[0] == "flowchart LR"
    assert '  n1["test.nop: say #quot;hi#quot; #lt;b#gt; #35; \\"]' in lines
    assert '  n3[/"check test.nop: c"/]' in lines
    assert "  n0 -->|require, path:/a| n1" in lines
    assert "  n1 -.->|path:/etc/x, pkgdb| n2" in lines
    assert "  n5 ==> n2" in lines


def test_every_reason_is_drawn_in_its_own_way(plan):
    drawn = {line.split("[", 1)[1].partition(", label")[0] for line in to_dot(plan).splitlines() if "->" in line}
    assert len(drawn) == 5
    arrows = {
        line.split()[1].partition("|")[0] for line in to_mermaid(plan).splitlines() if re.match(r"  n\d+ [-=]", line)
    }
    assert arrows == {"-->", "==>", "-.->", "--o", "---"}
    svg = to_svg(plan)
    assert all(colour in svg for colour in ("#1f2933", "#9aa5b1", "#2b6cb0", "#c05621", "#718096"))


def test_json(plan):
    data = json.loads(to_json(plan))
    assert data["digest"] == "d"
    assert data["contingent"] == [{"before": 0, "after": 2, "proof": 1, "resources": ["path:/d"]}]
    assert data["nodes"][0] == {
        "id": 0,
        "kind": "chunk",
        "label": "test.nop: a",
        "tag": "test_|-a_|-a_|-nop",
        "sls": "s",
        "file": "/s.sls",
        "line": 1,
    }
    assert data["nodes"][4] == {"id": 4, "kind": "set", "label": "sls: s", "members": [0, 1]}
    edge = {"before": 0, "after": 1, "sources": ["require", "footprint"], "resources": ["path:/a"]}
    assert edge in data["edges"]


def test_svg_is_well_formed_and_shows_every_node_and_edge(plan):
    root = ET.fromstring(to_svg(plan))
    space = "{http://www.w3.org/2000/svg}"
    titles = [element.text for element in root.iter(f"{space}title")]
    assert 'test.nop: say "hi" <b> # \\' in titles
    assert "require, footprint, path:/a" in titles
    assert len(root.findall(f"{space}g")) == len(plan.nodes)


def test_an_empty_plan_can_be_drawn():
    empty = Plan((), (), (), (), Dag(0))
    for draw in FORMATS.values():
        assert draw(empty)
    ET.fromstring(to_svg(empty))


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_layers_hold_every_node_once_and_edges_point_right(pairs):
    edges = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    columns = layers(15, edges)
    column_of = {node: number for number, column in enumerate(columns) for node in column}
    assert sorted(node for column in columns for node in column) == list(range(15))
    assert all(column_of[before] < column_of[after] for before, after in edges)
