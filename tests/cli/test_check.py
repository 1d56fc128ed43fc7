"""The promise of check: every mistake that a run would trip over, in bundled states and in plugins of the tree."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from messages import said
from tables import beside

from asyncstate.cli import main

TABLES = beside(__file__)

OWN = 'def done(name, times=1):\n    return {"name": name, "result": True, "changes": {}, "comment": str(times)}\n'
WRONG = TABLES["wrong"]
MISTAKES = TABLES["mistakes"]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "_states").mkdir(parents=True)
    (root / "_states" / "own.py").write_text(OWN)
    (root / "wrong.sls").write_text(WRONG.replace("{here}", str(tmp_path)))
    return root


@pytest.fixture
def run(tree, tmp_path, monkeypatch, capfd):
    for name in ("NO_COLOR", "FORCE_COLOR", "ASYNCSTATE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))

    def call(*words, strict=False, roots=True):
        monkeypatch.setenv("ASYNCSTATE_STRICT_ARGUMENTS", str(strict))
        code = main([*map(str, words), *(("--file-root", str(tree)) if roots else ())])
        out, errors = capfd.readouterr()
        return SimpleNamespace(returncode=code, stdout=out, stderr=errors)

    return call


@pytest.mark.feature("F049")
def test_every_mistake_at_once_with_its_line_and_the_nearest_name(run, tree):
    done = run("check", "wrong")
    assert done.returncode == 1
    for line, hint in MISTAKES.items():
        assert re.search(rf"      at {tree}/wrong.sls:{line} \[E4\d\d\]\n      {re.escape(hint)}".rstrip(), done.stdout)
    assert done.stdout.count("----------") == len(MISTAKES)
    mistakes = json.loads(run("check", "wrong", "--out", "json").stdout)
    assert len(mistakes) == len(MISTAKES)
    assert all(re.search(r" \[E4\d\d\]$", mistake) for mistake in mistakes)


def places_in_a_broken_tree(run, tmp_path, argument):
    """Check a tree with a broken pillar, a broken target, and this argument; return file, line and code of mistakes."""
    text = f"a:\n  test.nopp: []\n  file.managed:\n    - {argument}\n    - require: [{{pkg: gone}}]\n"
    files = {
        "tree/top.sls": "base:\n  '*': [a, b]\n  'os:x': [{match: grian}, c]\n",
        "tree/a.sls": text,
        "tree/b.sls": f"{{{{ pillar.port }}}}: test.nop\n{text.replace('a:', 'b:')}",
        "tree/c.sls": text.replace("a:", "c:"),
        "pillar/top.sls": "base: {'*': [p, gone]}",
        "pillar/p.sls": "{{ 1 / 0 }}",
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    said = run("check", "--pillar-root", tmp_path / "pillar").stdout
    return sorted(re.findall(r"at \S+/(\S+):(\d+) \[(E\d+)\]", said))


BROKEN = [("p.sls", "1", "E508"), ("top.sls", "1", "E507"), ("top.sls", "3", "E115")]
"""The mistakes in the pillar and the top file of a broken tree."""


def test_a_broken_pillar_and_a_broken_target_hide_no_mistake_that_is_not_due_to_them(run, tree, tmp_path):
    of_tree = [(f"{name}.sls", "2", "E401") for name in "ac"]
    assert places_in_a_broken_tree(run, tmp_path, "name: /x") == sorted([*BROKEN, *of_tree])


def test_strict_arguments_stops_apply(run, tree, tmp_path):
    done = run("check", "wrong", strict=True)
    assert done.returncode == 1
    assert done.stdout.count("----------") == len(MISTAKES)
    assert run("apply", "wrong", strict=True).returncode == 1
    assert not (tmp_path / "text").exists()


@pytest.mark.feature("F049")
def test_apply_gives_its_rows_and_has_the_findings_among_its_warnings(run, tree):
    (tree / "some.sls").write_text(
        "a:\n  file.manged: []\nb:\n  test.nop: []\nc:\n  cmd.run:\n    - name: 'true'\n    - cdw: /\n"
    )
    done = run("apply", "some", "--test", "--out", "json")
    rows = json.loads(done.stdout)
    assert done.returncode == 2
    assert [row["result"] for row in rows.values()] == [False, True, None]
    missing = rows["file_|-a_|-a_|-manged"]
    (first, second) = missing["comment"].splitlines()
    assert (first, "'file.manged'" in second) == (said("no-such-state", function="file.manged", sls="some"), True)
    assert "did you mean 'file.managed'?" in done.stderr
    assert "did you mean 'cwd'?" in done.stderr


def test_warnings_alone_are_no_mistake(run, tree):
    (tree / "some.sls").write_text("c:\n  cmd.run:\n    - name: 'true'\n    - order: early\n")
    done = run("check", "some")
    assert done.returncode == 0
    assert "1 warning" in done.stdout
    assert "order 'early' of state 'c'" in done.stderr


@pytest.mark.parametrize(
    ("state", "word", "right"),
    TABLES["another word for an argument is a mistake"],
)
def test_another_word_for_an_argument_is_a_mistake(run, tree, state, word, right):
    text = f"s:\n  {state}:\n    - name: {tree}/new\n    - {word}\n"
    (tree / "some.sls").write_text(text)
    done = run("check", "some")
    assert done.returncode == 1
    assert re.search(rf"some\.sls:4 \[E404\]\n +did you mean '{right}'\?", done.stdout)
    (tree / "some.sls").write_text(text.replace(word.partition(":")[0], right))
    assert "E404" not in run("check", "some").stdout


def test_a_variable_of_a_template_may_be_another_word_for_an_argument(run, tree):
    text = f"s:\n  file.managed:\n    - name: {tree}/new\n    - owner: me\n    - contents: '{{% raw %}}{{{{ owner }}}}{{% endraw %}}'\n"
    (tree / "some.sls").write_text(text + "    - template: jinja\n")
    assert run("check", "some").returncode == 0
    (tree / "some.sls").write_text(text)
    assert run("check", "some").returncode == 1


def test_what_is_nearly_an_argument_is_a_mistake_that_a_comment_silences(run, tree):
    text = "c:\n  cmd.run:\n    - name: 'true'\n    - cdw: /{comment}\n"
    (tree / "some.sls").write_text(text.format(comment=""))
    assert run("check", "some").returncode == 1
    applied = run("apply", "some", "--test")
    assert applied.returncode == 0
    assert "did you mean 'cwd'?" in applied.stderr
    for name in ("probable-argument", "E404"):
        (tree / "some.sls").write_text(text.format(comment=f"  # asyncstate: ignore[{name}]"))
        assert run("check", "some").returncode == 0


TARGETS = "base:\n  'elsewhere*':\n    - wrong\n"


@pytest.mark.parametrize(
    "files", [{}, {"top.sls": TARGETS}, {"top.sls": "base:\n  '*': [none]\n", "none.sls": "# nothing\n"}]
)
def test_a_highstate_with_nothing_to_do_says_why(tree, run, files):
    for name, text in files.items():
        (tree / name).write_text(text)
    checked, applied = run("check"), run("apply")
    assert (checked.returncode, applied.returncode) == (1, 2)
    assert checked.stdout.partition("[E117]\n")[2].splitlines()[0].strip() in applied.stdout
    assert "ID: states" not in applied.stdout
    assert json.loads(run("apply", "--out", "json").stdout)["no_|-states_|-states_|-None"]["result"] is False
