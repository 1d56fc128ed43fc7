"""Graphviz finds the places where it is installed and works; where not, nothing is missing."""

import sys

import pytest

from asyncstate.analyse import graphviz
from asyncstate.analyse.graphviz import GraphvizFailed, graphviz_layout, graphviz_or_own_layout
from asyncstate.layout.graph import Graph
from asyncstate.layout.whole import layout

GRAPH = Graph([(144.0, 24.0), (72.0, 36.0), (90.0, 24.0)], [(0, 1, "watch"), (1, 2, "")])

DOT = """
import json, re, sys
assert sys.argv[1:] == ["-Tjson0"]
text = sys.stdin.read()
nodes = re.findall(r"^(\\d+) \\[width=([\\d.]+), height=([\\d.]+)\\];$", text, re.M)
assert nodes == [("0", "2.0000", "0.3333"), ("1", "1.0000", "0.5000"), ("2", "1.2500", "0.3333")], text
assert "watch" not in text
edges = re.findall(r"^(\\d+) -> (\\d+) \\[id=(\\d+)\\];$", text, re.M)
spots = [{"name": name, "pos": f"{100 * int(name) + 80},80"} for name, _, _ in nodes]
curves = [{"id": id, "pos": f"{100 * int(a)},80 30,7e+01 40.5,60 {100 * int(b)},80"} for a, b, id in edges]
print(json.dumps({"bb": "0,0,400,100", "objects": spots, "edges": curves[::-1]}))
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a program dot in the path: this Python code."""

    def install_(code):
        dot = tmp_path / "dot"
        dot.write_text(f"#!{sys.executable} -IS\n{code}")
        dot.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    return install_


def test_places_are_those_of_graphviz_with_y_downwards(install):
    install(DOT)
    found = graphviz_or_own_layout(GRAPH)
    assert [(box.left + box.width / 2, box.top + box.height / 2) for box in found.boxes] == [
        (80, 20),
        (180, 20),
        (280, 20),
    ]
    assert [(box.width, box.height) for box in found.boxes] == GRAPH.sizes
    assert found.routes[0] == [(0, 20), (30, 30), (40.5, 40), (100, 20)]
    assert found.routes[1][0] == (100, 20)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (None, "Graphviz is not installed"),
        ("import sys; sys.exit('no fonts')", "exit code 1: no fonts"),
        ("import time; time.sleep(60)", "more than 0.3 seconds"),
        ("print('{}')", "no layout: .*bb"),
        ("print('not json')", "no layout"),
        (DOT.replace("spots = [", "spots = [] and ["), "no layout"),
        (DOT.replace(" 30,7e+01", ""), "an edge that is no curve"),
        (DOT.replace("[::-1]", "[1:]"), "no layout"),
    ],
)
def test_what_does_not_work_is_said_if_it_was_asked_for_and_else_replaced(install, monkeypatch, code, why):
    monkeypatch.setattr(graphviz, "_PATIENCE", 0.3 if "sleep" in str(code) else 30)
    if code is not None:
        install(code)
    with pytest.raises(GraphvizFailed, match=why):
        graphviz_layout(GRAPH)
    assert graphviz_or_own_layout(GRAPH) == layout(GRAPH)


def test_bands_are_laid_out_here(install):
    banded = Graph(GRAPH.sizes, GRAPH.edges, [0, 0, 1])
    install("import sys; sys.exit(3)")
    assert graphviz_layout(banded) == layout(banded)
