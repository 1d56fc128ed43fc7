"""Completion: parsing of a shell line, and the content of an answer."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.cli import main
from asyncstate.extras.completion import values
from asyncstate.extras.completion.shell import SHELLS, bash_line, completions

BREAKS = " \t\n\"'><=;|&(:"


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs"))), min_size=1))
def test_words_in_quotation_marks_are_those_that_the_shell_would_pass(words):
    line = bash_line(f"asyncstate {shlex.join(words)} ", BREAKS)
    assert (line.words, line.begun) == (words, "")


@pytest.mark.parametrize(
    ("text", "begun", "start", "quote"),
    [
        ("x --id my\\ i", "my i", 0, ""),
        ("x name=a:b", "name=a:b", 7, ""),
        ('x name="a:b', "name=a:b", 5, '"'),
        ("x 'a b", "a b", 0, "'"),
        ("x a ", "", 0, ""),
    ],
)
def test_bash_replaces_what_follows_its_last_break(text, begun, start, quote):
    line = bash_line(f"sudo {text}", BREAKS)
    assert (line.begun, line.start, line.quote) == (begun, start, quote)


@pytest.mark.parametrize("shell", SHELLS)
def test_an_answer_has_a_kind_and_a_line_for_each_word(shell, monkeypatch, capsys):
    monkeypatch.setenv("_ASYNCSTATE_COMPLETE", shell)
    monkeypatch.setenv("COMP_LINE", "asyncstate --log-level war")
    assert main(["--log-level", "war"]) == 0
    assert capsys.readouterr().out == "words\nwarning\n"
    monkeypatch.setenv("COMP_LINE", "asyncstate apply --report x")
    assert main(["apply", "--report", "x"]) == 0
    assert capsys.readouterr().out == "files\n"


def test_mistakes_on_the_line_give_no_words_and_no_error(monkeypatch, capsys):
    monkeypatch.setenv("_ASYNCSTATE_COMPLETE", "zsh")
    for words in (["nothing", "x"], ["apply", "--config", "/nowhere", "x"], ["single", "no.such", "x"], []):
        assert main(words) == 0
    monkeypatch.setenv("ASYNCSTATE_CONCURRENCY", "many")
    assert main(["apply", "x"]) == 0
    assert capsys.readouterr().err == ""


def offered(*words):
    return [item.value for item in completions(words[:-1], words[-1])]


def test_words_of_the_language_rules_and_runs_have_their_places():
    assert offered("doc", "requis") == ["requisites"]
    assert offered("lint", "--ignore", "unused-pillar,unknown-e") == ["unused-pillar,unknown-effects"]
    assert offered("apply", "test=") == ["test=True", "test=False"]
    assert offered("single", "file.managed", "makedirs=T") == ["makedirs=True"]
    assert offered("smi", "show", "servi") == ["service"]
    assert offered("help", "app") == ["apply"]
    assert offered("help", "show", "gra") == ["graph"]
    assert offered("help", "apply", "x") == []
    assert offered("explain", "E30")[:2] == ["E301", "E302"]
    assert offered("apply", "--state-output=ter") == ["--state-output=terse", "--state-output=terse_id"]


def test_sls_on_the_line_say_which_ids_are_meant(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.sls").write_text(f"of-{name}: test.nop\n")
    tree = ("--file-root", str(tmp_path))
    assert offered("apply", "a", *tree, "--id", "of") == ["of-a"]
    assert offered("explain", *tree, "of") == ["of-a", "of-b"]
    assert offered("explain", *tree, "x", "a", "--exclude", "id:") == ["id:of-a"]
    assert offered("apply", *tree, "a", "--exclude", "") == ["id:", "sls:", "b"]
    assert offered("apply", *tree, "a,", "") == ["b"]


def test_each_tree_has_its_own_plugins_beside_those_of_the_configuration(tmp_path):
    (tmp_path / "minion").write_text("states_dirs: [more]\n")
    plugins = {"more": "outside", "a/_states": "of_a", "b/_states": "of_b"}
    for folder, name in plugins.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.py").write_text("def here(name): ...\n")
    ways = [("single", "--config", str(tmp_path / "minion"), "--file-root", str(tmp_path / tree)) for tree in "ab"]
    assert [offered(*ways[0], word) for word in ("of", "outs")] == [["of_a.here"], ["outside.here"]]
    assert [offered(*ways[1], word) for word in ("of", "outs")] == [["of_b.here"], ["outside.here"]]


def test_every_completion_that_a_command_names_is_there(checkout):
    asked = {
        name
        for file in (checkout / "asyncstate").rglob("*.py")
        for name in re.findall(r'completes\("(\w+)"\)', file.read_text())
    }
    assert asked <= {name.removeprefix("complete_") for name in vars(values)}
    assert {"sls", "id", "run"} <= asked
