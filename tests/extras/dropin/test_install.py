"""A program named salt-call, which never hides Salt's own by accident."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def folders(tmp_path, monkeypatch):
    made = [tmp_path / name for name in ("first", "second", "other")]
    for folder in made:
        folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, made[:2])))
    return made


def _real(folder):
    program = folder / "salt-call"
    program.write_text("#!/usr/bin/python3\nfrom salt.scripts import salt_call\n")
    return program


def test_it_is_written_and_executable(salt_call, folders):
    done = salt_call("--install", folders[0])
    assert done.code == 0
    program = folders[0] / "salt-call"
    assert os.access(program, os.X_OK)
    assert 'asyncstate salt-call "$@"' in program.read_text()
    assert "not on PATH" not in done.errors


def test_it_may_be_written_again(salt_call, folders):
    assert [salt_call("--install", folders[0]).code for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("place", [0, 1])
def test_a_real_one_in_the_folder_or_behind_it_is_not_hidden(salt_call, folders, place):
    real = _real(folders[place])
    before = real.read_text()
    done = salt_call("--install", folders[0])
    assert done.code == 1
    assert f"{real} is Salt's own" in done.errors
    assert "--force" in done.errors
    assert real.read_text() == before


def test_force_does_it_all_the_same(salt_call, folders):
    _real(folders[1])
    assert salt_call("--install", folders[0], "--force").code == 0


@pytest.mark.parametrize("place", [1, 2])
def test_behind_a_real_one_and_beside_path_nothing_is_hidden(salt_call, folders, place):
    _real(folders[0])
    done = salt_call("--install", folders[place])
    assert done.code == 0
    assert ("is not on PATH" in done.errors) is (place == 2)


def test_a_link_to_the_real_one_is_replaced_not_followed(salt_call, folders):
    real = _real(folders[2])
    (folders[0] / "salt-call").symlink_to(real)
    assert salt_call("--install", folders[0]).code == 1
    assert salt_call("--install", folders[0], "--force").code == 0
    assert "salt.scripts" in real.read_text()
    assert not (folders[0] / "salt-call").is_symlink()


def test_a_folder_that_is_not_there_is_named(salt_call, folders):
    done = salt_call("--install", folders[0] / "none")
    assert done.code == 1
    assert "none is not a directory" in done.errors
