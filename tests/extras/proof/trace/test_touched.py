"""Addition of one state's accesses."""

import pytest

from asyncstate.extras.proof.trace import touched
from asyncstate.extras.proof.trace.noise import shared_paths
from asyncstate.extras.proof.trace.touched import (
    ABSENT,
    ENSURED,
    LOOKED,
    MADE,
    NAMED,
    REMOVED,
    SET,
    WRITTEN,
    Touched,
    above,
)


def noted(*accesses, is_shared=lambda path: True):
    state = Touched(is_shared)
    for path, what in accesses:
        state.note(path, what)
    return state.seen()


def test_flags_of_one_path_add_up():
    assert noted(("/a", LOOKED), ("/a", WRITTEN)) == {"/a": LOOKED | WRITTEN}


@pytest.mark.parametrize("path", ["/a//b", "/a/./b", "/a/c/../b", "/a/b/", "//a/b"])
def test_spellings_of_one_path_are_one(path):
    assert noted((path, LOOKED)) == {"/a/b": LOOKED}


def test_what_has_no_place_in_the_file_system_is_left_out():
    assert noted(("socket:[1]", LOOKED), ("", LOOKED), ("relative", WRITTEN)) == {}


def test_what_a_state_makes_and_removes_again_is_left_out():
    assert noted(("/t", MADE), ("/t/f", WRITTEN), ("/t/f", REMOVED), ("/t", REMOVED)) == {}
    assert noted(("/t", ABSENT), ("/t", MADE | WRITTEN), ("/t", REMOVED), ("/kept", WRITTEN)) == {"/kept": WRITTEN}


def test_what_it_makes_again_counts():
    assert noted(("/t", MADE), ("/t", REMOVED), ("/t", MADE), ("/t/f", WRITTEN)) == {"/t": MADE, "/t/f": WRITTEN}


def test_a_file_that_may_have_been_there_counts_when_it_is_removed():
    assert noted(("/t", WRITTEN | NAMED), ("/t", REMOVED)) == {"/t": WRITTEN | NAMED | REMOVED}


def test_a_state_that_touches_very_much_is_not_wholly_seen(monkeypatch):
    monkeypatch.setattr(touched, "MOST_PATHS", 2)
    seen = Touched()
    for path in ("/a", "/b", "/c", "/a"):
        seen.note(path, LOOKED)
    assert seen.seen() == {"/a": LOOKED, "/b": LOOKED}
    assert list(seen.unseen) == ["more than 2 paths"]


def test_the_folders_above_a_path():
    assert above("/a/b/c") == ["/a/b", "/a"]
    assert above("/a") == []


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/stat",
        "/dev/null",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/etc/ld.so.cache",
        "/srv/app/__pycache__/x.py",
        "/srv/app/x.pyc",
        "/var/cache/us/f",
        "/dev/shm/us/f",
        "/dev/shm/x.pyc",
        "/etc",
        "/",
    ],
)
def test_noise(path):
    assert not shared_paths(["/var/cache/us/", "/dev/shm/us"])(path)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/dev/shm/x", "/usr/bin/nginx", "/srv/lib/x", "/procedures", "/var/cache/used"]
)
def test_what_states_share(path):
    assert shared_paths(["/var/cache/us"])(path)


def test_others_may_have_seen_a_temporary_folder():
    state = Touched()
    for path, what in (("/t", MADE | ENSURED), ("/t/f", WRITTEN), ("/t", REMOVED), ("/u", MADE), ("/u", REMOVED)):
        state.note(path, what)
    assert state.seen() == {}
    assert state.seen_by_others() == {"/t": MADE | REMOVED}
    state.note("/t", MADE | ENSURED)
    assert state.seen_by_others() == {"/t": MADE | ENSURED, "/t/f": WRITTEN}


def test_marks_of_folders():
    state = Touched()
    state.note("/d", MADE | ENSURED, "made 0755")
    state.note("/d/", WRITTEN, "mode 0700")
    state.note("/f", WRITTEN, "mode 0600")
    assert state.seen() == {"/d": MADE | ENSURED | SET, "/f": WRITTEN}
    assert state.marks == {"/d": {"made 0755", "mode 0700"}}
