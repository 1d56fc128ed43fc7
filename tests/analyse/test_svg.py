"""The SVG document: whole labels, kinds of edges that can be told apart, texts that do no harm."""

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from asyncstate.analyse.svg import Drawing, Line, Node, draw
from asyncstate.layout.graph import Layout
from asyncstate.layout.text import width
from asyncstate.layout.whole import layout

SVG = "{http://www.w3.org/2000/svg}"
LINES = {
    "watch": Line("solid", "#111111", "#eeeeee", "watches"),
    "order": Line("dashed", "#222222", "#dddddd", "comes after"),
    "rare": Line("bold", "#333333", "#cccccc", "never seen"),
}


def drawn(nodes, edges=(), place=layout, **others):
    text = draw(Drawing([Node(*node) for node in nodes], edges, LINES, **others), place)
    return text, ET.fromstring(text)


@given(st.lists(st.text(st.characters(codec=None), max_size=120), max_size=6))
def test_every_label_is_whole_and_within_its_box_whatever_it_is(labels):
    text, root = drawn([(label, label, "chunk") for label in labels])
    assert text.encode()
    boxes = root.findall(f"{SVG}g/{SVG}g")
    assert len(boxes) == len(labels)
    for group, label in zip(boxes, labels, strict=True):
        box = {name: float(group.find(f"{SVG}rect").get(name)) for name in ("x", "y", "width", "height")}
        shown = group.findall(f"{SVG}text/{SVG}tspan")
        if label.isprintable():
            assert "".join("".join(each.text or "" for each in shown).split()) == "".join(label.split())
        for each in shown:
            half = width(each.text or "") * 11 / 2
            assert box["x"] + 8 <= float(each.get("x")) - half
            assert float(each.get("x")) + half <= box["x"] + box["width"] - 8
            assert box["y"] + 11 <= float(each.get("y")) <= box["y"] + box["height"] - 3


def test_the_legend_has_the_kinds_that_are_drawn_in_light_and_dark():
    nodes = [("a", "a\n/srv/a.sls:3", "chunk"), ("b", "b", "check"), ("c", "c", "minor")]
    edges = [(0, 1, "watch", "a → b"), (1, 2, "order", "b → c\nstage"), (0, 2, "watch", "a → c")]
    text, root = drawn(nodes, edges, notes=["A note."])
    assert [each.text for each in root.findall(f"{SVG}text")] == ["watches", "comes after", "A note."]
    light, dark = text.split("prefers-color-scheme:dark")
    assert all(colour in light for colour in ("#111111", "#222222"))
    assert all(colour in dark for colour in ("#eeeeee", "#dddddd"))
    assert "never seen" not in text
    assert "#333333" not in text
    assert {each.text for each in root.iter(f"{SVG}title")} == {
        *(node[1] for node in nodes),
        *(edge[3] for edge in edges),
    }


def test_edges_too_long_are_counted():
    def undrawn(graph):
        found = layout(graph)
        return Layout(found.boxes, [()] * len(graph.edges), found.width, found.height)

    nodes = [(name, name, "chunk") for name in "ab"]
    text, root = drawn(nodes, [(0, 1, "watch", "a → b")], undrawn)
    assert "Not drawn, for its length: 1 edge." in text
    assert not root.findall(f"{SVG}g/{SVG}path")


def test_what_runs_together_is_drawn_once():
    nodes = [(str(number), "", "chunk") for number in range(9)]
    edges = [(number, number + 1, "order", "") for number in range(8)] + [(0, 7, "watch", ""), (0, 8, "watch", "")]
    text, _ = drawn(nodes, edges)
    long, longer = (
        re.search(r'd="(M[^"]*)"', line)[1]
        for line in text.splitlines()
        if 'class="edge watch"' in line and "<title>" in line
    )
    assert len(longer) < len(long)
    assert longer[1:].partition("C")[0].partition("V")[0].partition("H")[0].split()[0] in long
