import subprocess

import pytest
from trees import FakeStates, compiler, plan

from asyncstate.errors import CompileError
from asyncstate.extras.analyse.lint import lint
from asyncstate.extras.analyse.patch import requisite_patch

STATES = FakeStates("test.mod_watch", footprints={"file": lambda low: {"writes": [f"path:{low['name']}"]}})
HEAD = "d:\n  file.directory:\n    - name: /x\n"
OPTIONS = {"states": STATES, "implicit_order": "footprint"}


def patched(tree, objection=None):
    """The diff, and what is left to do by hand; every diff is compiled with the tree it is for."""
    files = {"s": tree} if isinstance(tree, str) else tree
    paths = {f"/memory/base/{name}.sls": name for name in files}
    compiled = plan(files, **OPTIONS)
    findings = [finding for finding in lint(compiled) if finding.rule == "footprint-order"]
    assert findings

    def compiles(texts):
        changed = {**files, **{paths[path]: text for path, text in texts.items()}}
        try:
            compiler(changed, **OPTIONS).plan(["s"])
        except CompileError as error:
            return str(error)
        return ""

    diff, left = requisite_patch(compiled, findings, lambda path: files[paths[path]], objection or compiles)
    return diff, [by_hand.what for by_hand in left]


def apply(tree, tmp_path):
    diff, left = patched(tree)
    assert left == []
    file = tmp_path / "memory/base/s.sls"
    file.parent.mkdir(parents=True)
    file.write_text(tree)
    subprocess.run(["git", "apply", "-p1"], cwd=tmp_path, input=diff, text=True, check=True)
    return file.read_text()


FILE = "f:\n  file.managed:\n    - name: /x/f\n"
FOLDER = FILE.replace("managed", "directory")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FILE, FILE + "    - require:\n      - file: d\n"),
        (FILE.rstrip("\n"), FILE + "    - require:\n      - file: d\n"),
        (
            FILE + "    - require:\n      - test: p\n    - mode: 1\np:\n  test.nop: []\n",
            FILE + "    - require:\n      - test: p\n      - file: d\n    - mode: 1\np:\n  test.nop: []\n",
        ),
        (
            FILE + "    - require:\n        - p\np:\n  test.nop: []\n",
            FILE + "    - require:\n        - p\n        - file: d\np:\n  test.nop: []\n",
        ),
        (FILE + "    - require: []\n", FILE + "    - require: [{file: d}]\n"),
        (
            FILE + "    - require: [p, {test: p}]  # both\np: test.nop\n",
            FILE + "    - require: [p, {test: p}, {file: d}]  # both\np: test.nop\n",
        ),
        (
            FILE + "    - contents: |\n        - require:\n          - x\n\n# the next\np: test.nop\n",
            FILE
            + "    - contents: |\n        - require:\n          - x\n    - require:\n      - file: d\n\n# the next\np: test.nop\n",
        ),
        ("/x/f:\n  file.managed: []  # why\n", "/x/f:\n  file.managed:  # why\n    - require:\n      - file: d\n"),
        ("/x/f:\n  file.managed: []\n", "/x/f:\n  file.managed:\n    - require:\n      - file: d\n"),
        ("/x/f:\n  file.managed\n", "/x/f:\n  file.managed:\n    - require:\n      - file: d\n"),
        (
            "f:\n  # comment\n  file:\n  - managed\n  - name: /x/f\n",
            "f:\n  # comment\n  file:\n  - managed\n  - name: /x/f\n  - require:\n    - file: d\n",
        ),
        (
            "f:\n  file.managed:\n    - name: /x/f\n  test.nop: []\n",
            "f:\n  file.managed:\n    - name: /x/f\n    - require:\n      - file: d\n  test.nop: []\n",
        ),
        (
            "{% set name = '/x/f' %}\nf:\n  file.managed:\n    - name: {{ name }}\n{% if true %}\np: test.nop\n{% endif %}\n",
            (
                "{% set name = '/x/f' %}\nf:\n  file.managed:\n    - name: {{ name }}\n    - require:\n      - file: d\n"
                "{% if true %}\np: test.nop\n{% endif %}\n"
            ),
        ),
    ],
)
def test_a_requisite_is_added_as_a_person_would(old, new, tmp_path):
    assert apply(HEAD + old, tmp_path) == HEAD + new


@pytest.mark.parametrize("id_", ["a: b", "it's", "1", "true", "{x}", "#", "-", "x ", "ünï"])
def test_any_id_can_be_named(id_, tmp_path):
    quoted = "'" + id_.replace("'", "''") + "'"
    text = apply(f"{quoted}:\n  file.directory:\n    - name: /x\n{FILE}", tmp_path)
    [chunk] = [chunk for chunk in plan(text, **OPTIONS).chunks if chunk.id == "f"]
    assert chunk.args["require"] == [{"file": id_}]


def test_two_requisites_of_one_state_are_one_list(tmp_path):
    text = apply(HEAD + "e:\n  file.directory:\n    - name: /x/f/g\n" + FOLDER, tmp_path)
    assert text.count("- require:") == 2
    assert lint(plan(text, **OPTIONS)) == []


@pytest.mark.parametrize("old", [FOLDER, "/x/f:\n  file.directory: []\n"])
def test_with_its_requisites_a_tree_has_no_findings(old, tmp_path):
    tree = apply(HEAD + old + "/x/f/g:\n  file.managed: []\n", tmp_path)
    assert lint(plan(tree, **OPTIONS)) == []


MACRO = "{% macro made(name) %}\n{{ name }}:\n  file.managed:\n    - name: /x/f\n{% endmacro %}\n{{ made('f') }}\n"


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (HEAD + "f: {file.managed: [{name: /x/f}]}\n", "not in block style"),
        (HEAD + "f:\n  file.managed: [{name: /x/f}]\n", "is not on a line of its own"),
        (HEAD + FILE + "    - require: [\n        p]\np: test.nop\n", "requisites is not in block style"),
        (HEAD + "{% for n in 'ab' %}\nf{{ n }}:\n  file.managed:\n    - name: /x/{{ n }}\n{% endfor %}\n", "template"),
        (HEAD + "{% for n in 'a' %}\nf:\n  file.managed:\n    - name: /x/{{ n }}\n{% endfor %}\n", "in a loop"),
        (HEAD + "{% if true %}\n" + FILE + "{% endif %}\n", "a condition of the template"),
        ("{% if true %}\n" + HEAD + "{% endif %}\n" + FILE, "'d' is in a loop"),
        ("{% for n in 'd' %}\n{{ n }}:\n  file.directory:\n    - name: /x\n{% endfor %}\n" + FILE, "'d' is written by"),
        (HEAD + MACRO, "template"),
        (HEAD + FILE + "{% if true %}\n    - mode: 1\n{% endif %}\n", ""),
        (
            HEAD + "f:\n  file.managed:\n    - name: /x/f\n    {% if true %}\n    - mode: 1\n    {% endif %}\n",
            "statement",
        ),
        (HEAD + "f:\n  file.managed: &shared\n    - name: /x/f\n", "line of its own"),
        (HEAD + "f:\n  file.managed:\n    - context: &x {}\n    - name: /x/f\n", "anchor"),
        ((HEAD + FILE).replace("\n", "\r\n"), "carriage returns"),
        ({"s": "include: [o, p]\n", "o": HEAD, "p": FILE}, "'p' does not include 'o'"),
    ],
)
def test_what_is_not_plain_is_said_in_words(tree, reason):
    diff, left = patched(tree)
    if reason:
        assert diff == ""
        assert left
    assert all(reason in what for what in left)
    assert all("- require: [{file: d}]" in what for what in left)


def test_an_id_of_an_sls_that_is_included_is_named():
    diff, left = patched({"s": "include: [o]\n" + FILE, "o": HEAD})
    assert left == []
    assert "+      - file: d\n" in diff


def test_what_does_not_compile_is_left_out_and_the_rest_is_written():
    tree = HEAD + FILE + "g:\n  file.managed:\n    - name: /x/g\n"
    diff, left = patched(
        tree, lambda texts: "no" if any(text.count("- require:") > 1 for text in texts.values()) else ""
    )
    assert diff.count("+    - require:\n") == 1
    assert len(left) == 1
    assert "with it the tree would not compile as it does: no" in left[0]


def test_an_id_that_is_the_name_of_the_state_itself_too_is_not_named(tmp_path):
    first, second, third = (f"{name}:\n  file.append:\n    - name: /x\n" for name in "fgh")
    require = "    - require:\n      - file: {}\n"
    tree = "/x:\n  file.touch: []\n" + first + second + third
    added = first + second + require.format("f") + third + require.format("g")
    assert apply(tree, tmp_path) == "/x:\n  file.touch: []\n" + added
    hints = [(finding.missing, finding.hint) for finding in lint(plan({"s": tree}, **OPTIONS))]
    assert hints[0] == (-1, "a requisite would name 'f' itself or later states, too: give '/x' another ID")
