"""An empty path names nothing, to root as to anybody: every door refuses it as the kernel does, and the working directory stays."""

import contextlib
import inspect
import os

import pytest

from asyncstate import filesystem

GIVEN = {
    "mode": 0o600,
    "access": filesystem.Access(mode=0o600),
    "data": b"new",
    "text": "new",
    "target": "made",
    "other": "made",
    "times": (0.0, 0.0),
    "program": "tar",
    "suffixes": (".py",),
    "most": 9,
}
PATHS = ("path", "source", "folder", "top", "one")
"""The names of parameters that take a path."""
ANSWERS = {"exists", "lexists", "is_directory", "is_file", "is_link", "is_plain_directory", "handed_over", "room_for"}
"""Functions that say of a path what is there: nothing is."""
OF_NO_PATH = {
    "version_of",
    "mount_points",
    "foretells",
    "judges",
    "refused_owners",
    "changes_so_far",
    "give_descriptor",
    "merged",
    "copy_attributes",
    "require_own_place",
    "digest",
}
QUIET = {
    "require_changeable",
    "resolved",
    "walk",
    "writable_below",
    "require_readable",
    "require_own_place",
    "require_unshared",
    *(["who_can_change"] if os.geteuid() else []),  # root alone asks
}
"""Functions that do nothing about what is not there."""


def functions():
    found = {name: getattr(filesystem, name) for name in filesystem.__all__}
    return sorted(name for name, each in found.items() if inspect.isfunction(each) and name not in OF_NO_PATH)


@pytest.mark.parametrize("name", functions())
def test_an_empty_path_names_nothing(name, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "kept").write_text("kept")
    monkeypatch.chdir(tmp_path / "here")
    before = os.stat(".")
    function = getattr(filesystem, name)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    arguments = {each.name: "" if each.name in PATHS else GIVEN[each.name] for each in parameters}

    def call():
        answer = function(**arguments)
        if isinstance(answer, contextlib.AbstractContextManager):
            with answer as inner:
                return inner
        return list(answer) if inspect.isgenerator(answer) else answer

    if name in ANSWERS:
        assert not call()
    elif name in QUIET:
        with contextlib.suppress(FileNotFoundError):
            assert not call()
    else:
        with pytest.raises(FileNotFoundError):
            call()
    after = os.stat(".")
    assert os.listdir(".") == ["kept"]
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)
