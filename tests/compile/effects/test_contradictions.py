"""States that undo each other's work, and those that a run refuses: certain ones are mistakes, others are for lint."""

from __future__ import annotations

import pytest
from bundled_states import Bundled
from trees import plan

from asyncstate.analyse.lint import lint
from asyncstate.compile.effects.contradictions import refused
from asyncstate.model.chunk import LowChunk

MANAGED = "file.managed: [{name: /x}, {contents: 'a = 1'}]"


def rules(first, second, *more, files=None):
    """The rules that find something between states, which stand in two SLS files."""
    states = [f"s{number}: {{{each}}}" for number, each in enumerate((first, second, *more))]
    made = plan({"a": "\n".join(states), **(files or {})}, ["a"], implicit_order="footprint")
    return {issue.rule for issue in made.warnings if issue.mistake} | {
        finding.rule for finding in lint(made) if finding.rule == "may-undo"
    }


@pytest.mark.parametrize(
    "second",
    [
        "file.managed: [{name: /x}, {contents: 'b = 1'}]",
        "file.managed: [{name: /x}, {contents: ['a = 1', b]}]",
        "file.replace: [{name: /x}, {pattern: 'a = .*'}, {repl: 'a = 2'}]",
        "file.line: [{name: /x}, {content: 'b = 2'}, {mode: ensure}, {after: a}]",
    ],
)
def test_two_states_that_write_one_file_differently_are_a_mistake(second):
    assert rules(MANAGED, second) == {"undone"}
    assert rules(second, MANAGED) == {"undone"}


def test_no_requisite_is_advised_between_states_that_contradict_each_other():
    other = "file.managed: [{name: /x}, {contents: b}]"
    made = plan({"a": f"one: {{{MANAGED}}}\ntwo: {{{other}}}"}, ["a"], states=Bundled(), implicit_order="footprint")
    assert [finding.rule for finding in lint(made)] == ["undone"]


def test_a_mistake_names_both_places():
    made = plan({"a": f"one: {{{MANAGED}}}\ntwo: {{file.managed: [{{name: /x}}, {{contents: b}}]}}"}, ["a"])
    (issue,) = [issue for issue in made.warnings if issue.rule == "undone"]
    assert (issue.code, issue.mistake, issue.line) == ("E430", True, 2)
    assert "a:two" in issue.message
    assert "a:one" in issue.message
    assert ".sls:1)" in issue.message


@pytest.mark.parametrize(
    "second",
    [
        "file.managed: [{name: /x}, {contents: 'a = 1'}, {mode: '0600'}]",
        "file.managed: [{name: /x}, {contents: ['a = 1']}]",
        "file.managed: [{name: /y}, {contents: b}]",
        "file.managed: [{name: /x}, {contents: b}, {replace: False}]",
        "file.managed: [{name: /x}, {mode: '0600'}]",
        "file.managed: [{name: /x}, {contents: b}, {unless: test -e /y}]",
        "file.managed: [{name: /x}, {contents: b}, {onlyif: test -e /y}]",
        "file.managed: [{name: /x}, {contents: b}, {creates: /y}]",
        "file.managed: [{name: /x}, {contents: b}, {onchanges: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: b}, {onfail: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: b}, {prereq: [{file: s0}]}]",
        "file.replace: [{name: /x}, {pattern: nothing}, {repl: x}]",
        "file.replace: [{name: /x}, {pattern: '['}, {repl: x}]",
        "file.line: [{name: /x}, {content: 'a = 1'}, {mode: ensure}, {after: a}]",
        "file.append: [{name: /x}, {text: b}]",
        "file.blockreplace: [{name: /x}, {content: b}, {append_if_not_found: True}]",
        "file.exists: [{name: /x}]",
    ],
)
def test_what_leaves_the_other_alone_is_no_mistake(second):
    assert rules(MANAGED, second) == set()


@pytest.mark.parametrize(
    "second",
    [
        "file.managed: [{name: /x}, {contents: b}, {require: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: b}, {order: last}]",
        "file.replace: [{name: /x}, {pattern: 'a = .*'}, {repl: 'a = 2'}, {require: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: '{{ 1 }}'}, {template: jinja}]",
        "file.managed: [{name: /x}, {contents_pillar: web}]",
        "file.replace: [{name: /x}, {pattern: '(.+)+b'}, {repl: x}]",
        "file.serialize: [{name: /x}, {dataset: {a: 1}}]",
    ],
)
def test_what_may_be_meant_or_may_agree_is_for_lint(second):
    assert rules(MANAGED, second) == {"may-undo"}


def test_a_chain_of_requisites_says_that_an_order_is_meant():
    between = "test.nop: [{require: [{file: s0}]}]"
    last = "file.managed: [{name: /x}, {contents: b}, {require: [{test: s1}]}]"
    assert rules(MANAGED, between, last) == {"may-undo"}


def test_a_file_that_is_removed_between_may_be_written_twice():
    assert rules(MANAGED, "file.absent: [{name: /x}]", "file.managed: [{name: /x}, {contents: b}]") == {"may-undo"}


def test_sources_of_the_tree_are_read(tmp_path):
    (tmp_path / "one").write_text("text\n")
    sources = ["file.managed: [{name: /x}, {source: 'salt://one'}]", "file.managed: [{name: /x}, {contents: text}]"]
    files = {"one": "text\n", "two": "other\n"}
    assert rules(*sources, files=files) - {"may-undo"} == set()
    other = "file.managed: [{name: /x}, {source: 'salt://two'}]"
    assert "undone" not in rules(sources[0], sources[0], files=files)
    assert rules(sources[0], other, files=files)


def chunk(index, function, name, **args):
    state, fun = function.split(".")
    return LowChunk(index, state, fun, f"id{index}", name, "a", "base", index, args)


GIVEN = chunk(0, "file.directory", "/srv/app", user="app")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app/code")),
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app", user="root")),
        (GIVEN, chunk(1, "git.present", "/srv/app/repo")),
        (GIVEN, chunk(1, "virtualenv.managed", "/srv/app/venv/")),
        (GIVEN, chunk(1, "pip.installed", "django", bin_env="/srv/app/venv")),
        (chunk(0, "user.present", "app"), chunk(1, "git.cloned", "https://x/r", target="/home/app/code")),
        (
            chunk(0, "user.present", "app", home="/srv/app"),
            chunk(1, "git.detached", "https://x/r", target="/srv/app/code"),
        ),
    ],
)
def test_a_program_of_root_in_a_folder_of_a_user_is_refused(earlier, later):
    (found,) = refused([earlier, later])
    assert (found.first, found.second, found.certain) == (0, 1, True)
    assert found.hint == "say user: app"
    assert "to app, who can replace files there" in found.message


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app/code", user="app")),
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/application")),
        (GIVEN, chunk(1, "git.config_set", "user.name", repo="/srv/app")),
        (GIVEN, chunk(1, "pip.installed", "django")),
        (chunk(0, "file.directory", "/srv/app", user="root"), chunk(1, "git.present", "/srv/app")),
        (chunk(0, "file.directory", "/srv/app"), chunk(1, "git.present", "/srv/app")),
        (chunk(0, "user.present", "app", createhome=False), chunk(1, "git.present", "/home/app")),
        (chunk(0, "git.present", "/srv/app"), chunk(1, "file.directory", "/srv/app", user="app")),
    ],
)
def test_what_a_run_does_not_refuse_is_no_mistake(earlier, later):
    assert list(refused([earlier, later])) == []


def test_no_user_is_advised_for_a_state_that_has_none():
    (found,) = refused([GIVEN, chunk(1, "file.patch", "/srv/app/x", source="salt://p")])
    assert found.hint == "let root own /srv/app while it patches there"


def test_a_folder_may_be_taken_back():
    back = chunk(1, "file.directory", "/srv/app", user="root")
    assert list(refused([GIVEN, back, chunk(2, "git.present", "/srv/app/repo")])) == []


@pytest.mark.parametrize("is_root", [True, False])
def test_a_refusal_is_a_mistake_where_root_compiles(is_root):
    tree = {
        "a": "dir: {file.directory: [{name: /srv/app}, {user: app}]}\n"
        "code: {git.latest: [{name: https://x/r}, {target: /srv/app/code}]}\n"
    }
    made = plan(tree, ["a"], is_root=is_root)
    assert [issue.code for issue in made.warnings if issue.mistake] == (["E431"] if is_root else [])
