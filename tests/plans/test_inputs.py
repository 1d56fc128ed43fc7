import os

import pytest
from tables import beside

from asyncstate.config import Settings
from asyncstate.plans.inputs import name_in_tree
from asyncstate.runtime import StateRuntime

TABLES = beside(__file__)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "salt"
    (root / "_states").mkdir(parents=True)
    (root / "web.sls").write_text(
        "{% import 'map.jinja' as map %}\nx:\n  file.managed:\n    - name: /x\n    - source: salt://x.txt\n"
    )
    (root / "map.jinja").write_text("")
    (root / "x.txt").write_text("content")
    (root / "unused.sls").write_text("")
    (root / "_states" / "mine.py").write_text("def there(name): ...\n")
    return tmp_path


def inputs(tree, sls=("web",), **more):
    settings = Settings(
        file_roots={"base": [str(tree / "salt")]},
        state_dir=str(tree / "state"),
        cachedir=str(tree / "cache"),
        **{"pillar": {"note": "n"}, "grains_override": {"role": "web"}, **more},
    )
    with StateRuntime(settings).open_sync() as runtime:
        return runtime.record(runtime.compile_sync(list(sls))).inputs


def changed(before, after):
    return {
        (kind, name)
        for kind in before.__struct_fields__
        for name in getattr(before, kind).keys() | getattr(after, kind).keys()
        if getattr(before, kind).get(name) != getattr(after, kind).get(name)
    }


def test_inputs_are_what_was_read_and_what_states_fetch(tree):
    found = inputs(tree)
    assert found.files.keys() == {"salt://web.sls", "salt://map.jinja", "salt://x.txt"}
    assert found.plugins.keys() == {"asyncstate", "salt://_states/mine.py"}
    assert found.pillar.keys() == {"note"}
    assert "role" in found.grains
    assert "pid" not in found.grains
    assert "implicit_order" in found.options


def test_the_same_tree_has_the_same_inputs(tree):
    assert inputs(tree) == inputs(tree)


@pytest.mark.parametrize(("path", "expected"), TABLES["a file that counts is named when it changes"])
def test_a_file_that_counts_is_named_when_it_changes(tree, path, expected):
    before = inputs(tree)
    with (tree / "salt" / path).open("a") as file:
        file.write("# changed\n")
    assert changed(before, inputs(tree)) == ({tuple(expected)} if expected else set())


def test_the_content_of_a_large_file_counts(tree):
    large = tree / "salt" / "x.txt"
    large.write_bytes(b"x" * (2 << 20))
    os.utime(large, (1, 1))
    before = inputs(tree)
    assert inputs(tree) == before
    large.write_bytes(b"y" * (2 << 20))
    os.utime(large, (1, 1))
    assert changed(before, inputs(tree)) == {("files", "salt://x.txt")}


def test_a_held_tree_is_copied_for_programs_that_read_it_by_themselves(tree):
    settings = Settings(file_roots={"base": [str(tree / "salt")]}, state_dir=str(tree), cachedir=str(tree / "cache"))
    with StateRuntime(settings).open_sync() as runtime:
        assert runtime.host._options_for_salt()["file_roots"] == {"base": [str(tree / "salt")]}
        plan = runtime.hold(runtime.compile_sync(["web"]))
        (folder,) = runtime.host._options_for_salt()["file_roots"]["base"]
        assert sorted(os.listdir(folder)) == ["_states", "map.jinja", "web.sls", "x.txt"]
        assert runtime.host._folders_for_salt()["states_dirs"][0] == f"{folder}/_states"
        assert plan.files.keys() == {f"{tree}/salt/{name}" for name in ("map.jinja", "web.sls", "x.txt")}
        assert runtime.used() == runtime.record(plan).inputs.files
    assert not os.path.exists(folder)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"pillar": {"note": "m"}}, ("pillar", "note")),
        ({"grains_override": {"role": "db"}}, ("grains", "role")),
        ({"implicit_order": "strict"}, ("options", "implicit_order")),
    ],
    ids=str,
)
def test_data_that_changes_is_named(tree, more, expected):
    assert changed(inputs(tree), inputs(tree, **more)) == {expected}


def test_files_are_named_by_their_place_in_the_tree():
    roots = {"base": ["/srv/salt", "/srv/more/"], "dev": ["/srv/dev"]}
    assert name_in_tree("/srv/salt/a/b.sls", roots) == "salt://a/b.sls"
    assert name_in_tree("/srv/more/b.sls", roots) == "salt://b.sls"
    assert name_in_tree("/srv/dev/b.sls", roots) == "salt://b.sls?saltenv=dev"
    assert name_in_tree("/srv/saltier/b.sls", roots) == "/srv/saltier/b.sls"


def test_what_a_template_imports_when_it_is_rendered_counts(tree):
    salt = tree / "salt"
    (salt / "lib").mkdir()
    (salt / "x.txt").write_text("{% from 'lib/a.jinja' import x with context %}\n{%- include './missing' %}\n")
    (salt / "lib" / "a.jinja").write_text("{%- import './b.jinja' as b -%}")
    (salt / "lib" / "b.jinja").write_text("{% import 'lib/a.jinja' as a %}")
    before = inputs(tree)
    assert {"salt://lib/a.jinja", "salt://lib/b.jinja"} <= before.files.keys()
    (salt / "lib" / "b.jinja").write_text("{% set y = 1 %}")
    assert changed(before, inputs(tree)) == {("files", "salt://lib/b.jinja")}


def test_the_files_of_a_folder_that_a_state_copies_count(tree):
    salt = tree / "salt"
    (salt / "web.sls").write_text("x:\n  file.recurse:\n    - name: /x\n    - source: salt://site\n")
    (salt / "site" / "sub").mkdir(parents=True)
    (salt / "site" / "sub" / "a").write_text("a")
    (salt / "site-other").write_text("")
    before = inputs(tree)
    assert before.files.keys() == {"salt://web.sls", "salt://site/sub/a"}
    (salt / "site" / "sub" / "b").write_text("b")
    assert changed(before, inputs(tree)) == {("files", "salt://site/sub/b")}
