import subprocess

import pytest
from trees import FakeStates, plan

from asyncstate.report.lint import lint
from asyncstate.report.requisite_patch import requisite_patch

STATES = FakeStates("test.mod_watch", footprints={"file": lambda low: {"writes": [f"path:{low['name']}"]}})
HEAD = "d:\n  file.directory:\n    - name: /x\n"


def patched(tree):
    """The text with the diff applied by patch(1), and how many findings the diff leaves out."""
    compiled = plan(tree, states=STATES, implicit_order="footprint")
    findings = lint(compiled)
    assert findings
    diff, left = requisite_patch(compiled, findings, lambda path: tree)
    return diff, left


def apply(tree, tmp_path):
    diff, left = patched(tree)
    assert left == []
    file = tmp_path / "s.sls"
    file.write_text(tree)
    subprocess.run(["patch", "--quiet", str(file)], input=diff, text=True, check=True)
    return file.read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "f:\n  file.managed:\n    - name: /x/f\n",
            "f:\n  file.managed:\n    - require:\n      - file: d\n    - name: /x/f\n",
        ),
        (
            "f:\n  file.managed:\n    - name: /x/f\n    - require:\n      - test: p\np:\n  test.nop: []\n",
            "f:\n  file.managed:\n    - name: /x/f\n    - require:\n      - file: d\n      - test: p\np:\n  test.nop: []\n",
        ),
        ("/x/f:\n  file.managed: []\n", "/x/f:\n  file.managed:\n    - require:\n      - file: d\n"),
        ("/x/f:\n  file.managed\n", "/x/f:\n  file.managed:\n    - require:\n      - file: d\n"),
        (
            "f:\n  # comment\n  file:\n  - managed\n  - name: /x/f\n",
            "f:\n  # comment\n  file:\n  - require:\n    - file: d\n  - managed\n  - name: /x/f\n",
        ),
    ],
    ids=["arguments", "a list of requisites", "no arguments", "function only", "function in the list"],
)
def test_a_requisite_is_added(old, new, tmp_path):
    assert apply(HEAD + old, tmp_path) == HEAD + new


@pytest.mark.parametrize("old", ["f:\n  file.managed:\n    - name: /x/f\n", "/x/f:\n  file.managed: []\n"])
def test_with_its_requisites_a_tree_has_no_findings(old, tmp_path):
    tree = apply(HEAD + old + "/x/f/g:\n  file.managed: []\n", tmp_path)
    assert lint(plan(tree, states=STATES, implicit_order="footprint")) == []


@pytest.mark.parametrize(
    "old",
    [
        "f: {file.managed: [{name: /x/f}]}\n",
        "f:\n  file.managed:\n    - name: /x/f\n    - require: []\n",
        "{% for n in 'ab' %}\nf{{ n }}:\n  file.managed:\n    - name: /x/{{ n }}\n{% endfor %}\n",
    ],
    ids=["flow style", "a requisite in flow style", "a loop"],
)
def test_what_is_not_plain_is_left_alone(old):
    diff, left = patched(HEAD + old)
    assert diff == ""
    assert {finding.rule for finding in left} == {"footprint-order"}
