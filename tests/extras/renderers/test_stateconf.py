from __future__ import annotations

import pytest
from memory_files import MemoryFileClient

from asyncstate.errors import RenderError
from asyncstate.render import RenderContext, render_sls


def render(text):
    files = MemoryFileClient({"base": {"a/b.sls": text}})
    context = RenderContext(salt={}, grains={}, pillar={}, opts={}, fileclient=files)
    return render_sls(files.sls_file("a.b", "base"), context).data


def test_local_ids_become_global():
    data = render(
        "#!stateconf -G yaml . jinja\n.x:\n  file.managed:\n    - require:\n      - pkg: .y\n"
        ".y:\n  pkg.installed:\n    - name: vim\nz:\n  test.nop:\n    - watch_in:\n      - file: .x\n"
        "extend:\n  .c::w:\n    test.nop:\n      - require:\n        - pkg: .y\n"
    )
    assert data == {
        "z": {"test.nop": [{"watch_in": [{"file": "a.b::x"}]}]},
        "extend": {"a.c::w": {"test.nop": [{"name": ".c::w"[1:]}, {"require": [{"pkg": "a.b::y"}]}]}},
        "a.b::x": {"file.managed": [{"name": "x"}, {"require": [{"pkg": "a.b::y"}]}]},
        "a.b::y": {"pkg.installed": [{"name": "vim"}]},
    }


def test_the_goal_requires_every_state():
    data = render("#!stateconf\n.x:\n  pkg.installed: []\n  file.managed: []\ny: test.nop\n")
    assert data["a.b::goal"] == {"stateconf.set": [{"require": [{"pkg": "a.b::x"}, {"file": "a.b::x"}, {"test": "y"}]}]}
    assert list(data) == ["y", "a.b::x", "a.b::goal"]
    assert data["y"] == {"test.nop": []}


def test_parameters_are_variables_of_the_template():
    data = render(
        "#!stateconf -G yaml . jinja\n.params:\n  stateconf.set:\n    - port: {{ 40 + 40 }}\n"
        "# --- end of state config ---\n"
        "x:\n  cmd.run:\n    - name: serve {{ params.port }} {{ sls_dir }}\n"
    )
    assert data["x"] == {"cmd.run": [{"name": "serve 80 a"}]}
    assert data["a.b::params"] == {"stateconf.set": [{"port": 80}]}


def test_includes_and_excludes_may_be_relative():
    data = render(
        "#!stateconf -G yaml . jinja\ninclude:\n  - .c\n  - d\n  - dev: .e\nexclude:\n  - sls: .f\n  - id: g\n"
    )
    assert data["include"] == [{"base": "a.c"}, "d", {"dev": "a.e"}]
    assert data["exclude"] == [{"sls": "a.f"}, {"id": "g"}]


def test_implicit_order():
    data = render(
        "#!stateconf -o -s -G yaml . jinja\none: test.nop\ntwo:\n  test.nop:\n    - require:\n      - test: one\n"
        "three:\n  cmd.run: []\n"
    )
    assert data["two"] == {"test.nop": [{"require": [{"test": "one"}, {"test": "one"}]}]}
    assert data["three"] == {"cmd.run": [{"require": [{"test": "two"}]}]}
    assert data["a.b::start"] == {"stateconf.set": [{"require_in": [{"test": "one"}]}]}


def test_high_data_of_another_renderer():
    data = render("#!jinja|yaml|stateconf -p\n.x: test.nop\n")
    assert list(data) == ["a.b::x", "a.b::goal"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!stateconf -q yaml . jinja\na: test.nop\n", "option -q not recognized"),
        ("#!stateconf yaml\na: test.nop\n", "Invalid use of the stateconf renderer"),
        ("#!stateconf yaml . nope\na: test.nop\n", 'The renderer "nope" is not available'),
        ("#!stateconf yaml . jinja\n- a\n", "does not render to a dictionary"),
        ("#!stateconf\n.goal: test.nop\n", r"Can't generate goal state\(.goal\)"),
        ("#!stateconf\n.x: test.nop\na.b::x: test.nop\n", "because the later already exists"),
        ("#!stateconf\ninclude:\n  - ....x\n", "goes beyond top level package"),
        ("#!stateconf -o\nx:\n  test.nop:\n    - names: [a]\n", r"'names' declaration\(found in state id: x\)"),
        ("#!stateconf -o\nx:\n  test.nop:\n    - require:\n      - test: y\ny: test.nop\n", "defined after it"),
        ("#!stateconf -o\nx: test.nop\ny:\n  test.nop:\n    - require_in:\n      - test: x\n", "defined before it"),
        ("#!yaml|stateconf\nx: test.nop\n", "or the option -p"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(RenderError, match=message):
        render(text)
