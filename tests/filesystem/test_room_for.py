"""Existence of a path's folder, now or by a later state: `filesystem.room_for` outside of dry runs."""

from __future__ import annotations

import os

import pytest

from asyncstate import filesystem
from asyncstate.filesystem import change


def test_a_folder_that_is_there_is_not_made(tmp_path):
    assert filesystem.room_for(str(tmp_path / "x"), lambda: pytest.fail("it is there"))


def test_a_missing_folder_is_made_if_something_makes_it(tmp_path):
    path = tmp_path / "new" / "x"
    assert not filesystem.room_for(str(path))
    assert filesystem.room_for(str(path), path.parent.mkdir)
    assert path.parent.is_dir()


@pytest.mark.parametrize("made_beside", [True, False])
def test_what_is_in_the_way_may_be_the_folder_that_another_state_made_meanwhile(tmp_path, made_beside):
    folder = tmp_path / "new"

    def make():
        if made_beside:
            folder.mkdir()
        else:
            folder.write_text("a file")
        return f"{folder} is there already"

    assert filesystem.room_for(str(folder / "x"), make) is made_beside


@pytest.mark.skipif(os.geteuid() != 0, reason="only root asks whether a file can be written")
def test_there_is_room_where_the_system_cannot_look_at_a_link_itself(tmp_path, monkeypatch):
    (tmp_path / "f").touch()
    real = os.access

    def access(path, mode, *, follow_symlinks=True, **more):
        return follow_symlinks and real(path, mode, **more)

    monkeypatch.setattr(os, "access", access)
    assert change.has_room(str(tmp_path / "f"))


def test_a_look_at_attributes_mounts_nothing(monkeypatch):
    flags = []

    class Library:
        @staticmethod
        def statx(_folder, _name, look, _mask, _found):
            flags.append(look)
            return 0

    monkeypatch.setattr(change, "_libc", lambda: Library)
    assert not change.is_fixed("x", 0)
    assert flags[0] & 0x800  # AT_NO_AUTOMOUNT
