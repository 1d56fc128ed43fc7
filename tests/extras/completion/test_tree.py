"""SLS names and IDs, as the text of a tree has them."""

from __future__ import annotations

import os

import yaml
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.completion import tree
from asyncstate.extras.completion.tree import declared, ids_of, sls_files
from asyncstate.sources.fileclient import LocalFileClient

PATHS = st.builds("{}{}".format, st.sampled_from(["", "a/", "b/", "a/b/"]), st.sampled_from(["a", "b", "init"]))
IDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.just(" "), min_size=1).filter(str.strip)


def write(root, texts):
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@given(st.lists(st.sets(PATHS), min_size=1, max_size=2))
def test_names_and_files_are_those_of_the_engine(tmp_path_factory, trees):
    roots = [tmp_path_factory.mktemp("root") for _ in trees]
    for root, paths in zip(roots, trees, strict=True):
        write(root, {f"{path}.sls": "" for path in paths})
    client = LocalFileClient({"base": [str(root) for root in roots]})
    names = sls_files([str(root) for root in roots])
    assert [*names] == [name for name in client.list_states("base") if client.sls_file(name, "base")]
    assert names == {name: client.sls_file(name, "base").path for name in names}


def test_a_folder_that_contains_itself_is_entered_once(tmp_path):
    write(tmp_path, {"web/init.sls": "a:\n", "elsewhere.py": ""})
    (tmp_path / "web" / "again").symlink_to("..")
    (tmp_path / "linked").symlink_to("web")
    assert [*sls_files([str(tmp_path)])] == ["linked", "web"]


@given(st.dictionaries(IDS, st.just({"test.nop": []})))
def test_ids_of_plain_yaml_are_its_keys(high):
    text = yaml.safe_dump(high, allow_unicode=True, width=10_000)
    keys = [key for key in high if "{{" not in key and key not in {"include", "exclude", "extend"}]
    found = declared(text)[0]
    assert sorted(found) == sorted(key for key in keys if yaml.safe_dump(key, width=10_000)[0] != "?" and key in found)
    assert {key for key in keys if key.isalnum() and not key.isdecimal() and key.isascii()} <= {*found}


def test_templates_and_programs_show_the_ids_that_they_do_not_compute():
    text = (
        "{# old:\n#}\n{% if x %}\nplain:\n  test.nop\n{{ x }}-made:\n  test.nop\n{% endif %}\nshort: test.nop\n# no:\n"
    )
    assert declared(text) == (["plain", "short"], [])
    assert declared("#!py\ndef run():\n  return {}\nclass X:\n  pass\n") == ([], [])
    assert declared("include:\n  - a.b\n\n  # c\n  - '.d'\n{% if x %}\n  - ..e\n{% endif %}\nid: test.nop\n")[1] == [
        "a.b",
        ".d",
        "..e",
    ]


def test_ids_are_those_of_the_named_sls_and_their_includes(tmp_path):
    root = tmp_path / "salt"
    write(root, {"web/init.sls": "include: \n  - .conf\n  - base\na:\n", "web/conf.sls": "include:\n  - web\nb:\n"})
    write(root, {"base.sls": "c:\n", "other.sls": "d:\n"})
    roots = {"base": [str(root)]}
    assert ids_of(roots, "base") == ["a", "b", "c", "d"]
    assert ids_of(roots, "base", ["web"]) == ["a", "b", "c"]
    write(root, {"base.sls": "changed:\n"})
    assert ids_of(roots, "base", ["web"]) == ["a", "b", "changed"]
    os.remove(root / "other.sls")
    assert ids_of(roots, "base") == ["a", "b", "changed"]


def test_ids_of_files_that_there_is_no_time_to_read_are_left_out(tmp_path, monkeypatch):
    write(tmp_path, {"a.sls": "a:\n"})
    assert ids_of({"base": [str(tmp_path)]}, "base") == ["a"]
    monkeypatch.setattr(tree, "_SECONDS_OF_READING", -1.0)
    assert ids_of({"base": [str(tmp_path)]}, "base") == []
