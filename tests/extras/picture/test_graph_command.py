"""``asyncstate show graph`` on a small tree, in every form."""

from __future__ import annotations

import json

import pytest
from report_page import Page

from tests.cli.test_show import answer, run, tree  # noqa: F401 - fixtures


def test_a_graph_for_programs_is_json_whatever_the_names(run, tree):  # noqa: F811
    (tree / "odd.sls").write_text('"a\\x85b\\x7f":\n  test.nop: []\n')
    [node] = answer(run("show", "graph", "odd", "--format", "json"))["nodes"]
    assert node["tag"] == "test_|-a\x85b\x7f_|-a\x85b\x7f_|-nop"


@pytest.mark.feature("F151")
def test_graph_in_every_format(run, tmp_path):  # noqa: F811
    assert run("show", "graph").stdout.startswith("digraph plan {")
    assert run("show", "graph", "web", "--format", "mermaid").stdout.startswith("flowchart LR")
    assert len(answer(run("show", "graph", "--format", "json"))["nodes"]) >= 4
    picture = tmp_path / "web.html"
    assert run("show", "graph", "web", "--format", "html", "--output", picture).stdout == ""
    page = Page(picture.read_text())
    assert "asyncstate: plan of web" in page.outline.text
    assert page.states["conf (/etc/conf)"]["kind"] == "planned"


def test_of_a_large_tree_the_surroundings_of_a_state_are_drawn(run, tree, monkeypatch):  # noqa: F811
    states = {f"s{number}": {"test.nop": [{"require": [{"test": f"s{number - 1}"}]}]} for number in range(1, 301)}
    (tree / "large.sls").write_text(json.dumps({"s0": {"test.nop": []}, **states}))
    whole = run("show", "graph", "large", "--format", "mermaid")
    assert (whole.returncode, whole.stdout[:12]) == (0, "flowchart LR")
    assert "a picture of 301 states is too large to be read" in whole.stderr
    assert "--around ID" in whole.stderr
    part = run("show", "graph", "large", "--format", "mermaid", "--around", "s7")
    assert part.stderr == ""
    assert [f'"test.nop: s{number}"' in part.stdout for number in range(4, 11)] == [False, *[True] * 5, False]
    wrong = run("show", "graph", "large", "--format", "json", "--around", "s7")
    assert wrong.returncode == 1
    assert "--around is for a picture" in wrong.stderr
    monkeypatch.setenv("PATH", str(tree))
    without = run("show", "graph", "large", "--format", "svg", "--around", "s7")
    assert (without.returncode, without.stdout) == (1, "")
    assert "install Graphviz (apt install graphviz), or use --format html" in without.stderr
