"""Copying, moving or packing a tree into itself ends and keeps the tree."""

from __future__ import annotations

import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness

from asyncstate import filesystem

FOLDERS = ("a", "a/b", "a/b/c", "d")


@pytest.fixture
def tree(tmp_path):
    return planted(tmp_path / "top")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for kind, name in (("modules", "archive"), ("modules", "file"), ("states", "file")):
        harness.load(kind, name)
    return harness


def planted(top):
    """Make a file in each of some folders."""
    for folder in FOLDERS:
        (top / folder).mkdir(parents=True)
        (top / folder / "file").write_text(folder)
    return top


def names(top):
    return {str(path.relative_to(top)) for path in top.rglob("*")}


@given(st.lists(st.sampled_from(["a", "b", "new", "d"]), min_size=1, max_size=4))
def test_a_tree_is_copied_once_wherever_in_it_the_target_is(tmp_path_factory, parts):
    top = planted(tmp_path_factory.mktemp("into") / "top")
    inner = "/".join(parts)
    target = top / inner
    before = names(top)
    filesystem.copy_tree(str(top), str(target))
    above = {"/".join(parts[: count + 1]) for count in range(len(parts))}
    below = {name for name in before if name.startswith(f"{inner}/")}
    copied = {f"{inner}/{name}" for name in (before | above) - below - {inner}}
    assert names(top) == before | above | copied


def test_the_state_copies_a_folder_into_itself_once(tree, plugins):
    before = names(tree)
    row = plugins.state("file.copy", name=str(tree / "in/side"), source=str(tree), force=True, makedirs=True)
    assert row["result"] is True, row["comment"]
    assert names(tree) == before | {"in", "in/side", "in/side/in"} | {f"in/side/{name}" for name in before}


@pytest.mark.usefixtures("another_file_system")
def test_a_tree_is_not_moved_into_itself_across_file_systems(tree):
    before = names(tree)
    with pytest.raises(OSError, match="into itself"):
        filesystem.move(str(tree), str(tree / "a/new"))
    assert names(tree) == before


def test_a_zip_that_lies_in_what_it_packs_is_not_in_itself(tree, plugins):
    target = tree / "all.zip"
    for _ in range(2):
        plugins.call("archive.zip", str(target), str(tree))
        with zipfile.ZipFile(target) as packed:
            assert sorted(name for name in packed.namelist() if not name.endswith("/")) == sorted(
                f"{str(tree).lstrip('/')}/{folder}/file" for folder in FOLDERS
            )


def test_a_copy_that_would_remove_its_source_first_is_refused(tree, plugins):
    before = names(tree)
    with pytest.raises(Exception, match="would be lost"):
        plugins.call("file.copy", str(tree / "a"), str(tree), recurse=True, remove_existing=True)
    assert names(tree) == before
