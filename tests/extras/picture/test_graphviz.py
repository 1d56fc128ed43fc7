"""Graphviz draws an SVG where it is installed and works; where not, the error says what to do instead."""

import sys

import pytest

from asyncstate.extras.picture import graphviz
from asyncstate.extras.picture.graphviz import GraphvizFailed, graphviz_svg

DOT = """
import sys
assert sys.argv[1:] == ["-Tsvg"]
print("<svg>" + sys.stdin.read() + "</svg>")
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


def test_the_program_gets_the_graph_and_its_answer_is_the_picture(install):
    install(DOT)
    assert graphviz_svg("digraph {}") == "<svg>digraph {}</svg>\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (None, "no program dot in PATH: install Graphviz"),
        ("import sys; sys.exit('no fonts')", "exit code 1: no fonts"),
        ("import time; time.sleep(60)", "more than 0.3 seconds"),
    ],
)
def test_every_failure_names_the_page_as_the_way_out(install, monkeypatch, code, why):
    monkeypatch.setattr(graphviz, "_PATIENCE", 0.3 if "sleep" in str(code) else 30)
    if code is not None:
        install(code)
    with pytest.raises(GraphvizFailed, match=why) as failed:
        graphviz_svg("digraph {}")
    assert "--format html" in str(failed.value)
