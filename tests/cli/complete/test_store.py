"""An index is read only if nobody else could have written it."""

from __future__ import annotations

import os

import pytest

from asyncstate.cli.complete import store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    store.save("x.json", {"a": 1})
    return tmp_path / "cache" / "completion"


def test_what_is_kept_is_private_and_read_again(folder):
    assert store.load("x.json") == {"a": 1}
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [("x.json", 0o600)]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_broken_index_counts_as_none(folder):
    for text in ("", "{", "[]", "[" * 100_000):
        (folder / "x.json").write_text(text)
        assert store.load("x.json") == {}


@pytest.mark.parametrize("spoil", ["file", "folder", "link", "pipe"])
def test_what_others_can_change_is_neither_read_nor_written(folder, spoil, tmp_path):
    if spoil == "file":
        (folder / "x.json").chmod(0o622)
    elif spoil == "folder":
        folder.chmod(0o777)
    else:
        os.rename(folder / "x.json", tmp_path / "elsewhere")
        (folder / "x.json").symlink_to(tmp_path / "elsewhere") if spoil == "link" else os.mkfifo(folder / "x.json")
    assert store.load("x.json") == {}
    before = sorted(os.listdir(folder))
    store.save("y.json", {})
    assert sorted(os.listdir(folder)) == (before if spoil == "folder" else sorted([*before, "y.json"]))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_uses_no_folder_below_one_of_another_user(folder, tmp_path):
    os.chown(tmp_path, 12345, -1)
    assert store.load("x.json") == {}
