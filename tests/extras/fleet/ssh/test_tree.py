"""The operator's tree on a runner: a file is fetched once, on demand, and never leaves its folder."""

import os
import stat
from concurrent.futures import Future

import pytest

from asyncstate.errors import RenderError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh.tree import StreamFiles


class Answers:
    """A channel to an operator who has these files."""

    def __init__(self, files, pieces=3):
        self.files = files
        self.pieces = pieces
        self.asked = []

    def ask(self, word, *value):
        self.asked.append((word, *value))
        future = Future()
        if word == "listing":
            future.set_result({"files": list(self.files), "dirs": [], "empty_dirs": [], "links": {}, "states": ["app"]})
        elif (content := self.files[value[1]]) is None:
            future.set_exception(BoardError("it is gone"))
        else:
            part = content[value[2] : value[2] + self.pieces]
            future.set_result({"data": part, "mode": 0o750, "last": len(part) < self.pieces})
        return future


def files_of(tmp_path, files):
    answers = Answers(files)
    return StreamFiles(answers, str(tmp_path / "tree"), ["base"]), answers


def test_a_file_comes_once_in_pieces_with_its_permissions(tmp_path):
    files, answers = files_of(tmp_path, {"app.sls": b"abcdefgh"})
    found = files.find("./app.sls", "base")
    assert files.find("app.sls", "base") == found
    with open(found, "rb") as file:
        assert file.read() == b"abcdefgh"
    assert stat.S_IMODE(os.stat(found).st_mode) == 0o750
    assert [each[-1] for each in answers.asked if each[0] == "fetch"] == [0, 3, 6]
    assert files.list_states("base") == ["app"]


@pytest.mark.parametrize(
    ("path", "env"), [("none", "base"), ("../app.sls", "base"), ("/app.sls", "base"), ("app.sls", "dev")]
)
def test_what_the_operator_does_not_list_is_not_asked_for(tmp_path, path, env):
    files, answers = files_of(tmp_path, {"app.sls": b""})
    assert files.find(path, env) is None
    assert "fetch" not in [each[0] for each in answers.asked]


@pytest.mark.parametrize("path", ["_states/../../../../out.py", "../out.sls", "/out.sls", "a//b.sls", "a\0b.sls"])
def test_a_listing_that_leads_out_of_the_folder_is_refused_as_a_whole(tmp_path, path):
    files, answers = files_of(tmp_path, {"app.sls": b"1", path: b"2"})
    for use in (files.bring_plugins, lambda: files.find("app.sls", "base"), lambda: files.list_states("base")):
        with pytest.raises(BoardError, match=r"lists a file outside of its roots"):
            use()
    assert "fetch" not in [each[0] for each in answers.asked]


def test_pieces_that_never_end_are_refused(tmp_path):
    files, answers = files_of(tmp_path, {"app.sls": b"abc"})
    answers.pieces = 0
    with pytest.raises(RenderError, match=r"a piece of it is empty and not the last"):
        files.find("app.sls", "base")


def test_a_file_in_the_place_of_a_folder_has_words(tmp_path):
    files, _ = files_of(tmp_path, {"a": b"1", "a/b.sls": b"2"})
    files.find("a", "base")
    with pytest.raises(RenderError, match=r"Cannot read salt://a/b.sls"):
        files.find("a/b.sls", "base")


def test_plugins_are_brought_first_and_stay_private(tmp_path):
    files, _ = files_of(tmp_path, {"_states/mine.py": b"1", "app.sls": b"2"})
    files.bring_plugins()
    path = tmp_path / "tree" / "base" / "_states" / "mine.py"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (tmp_path / "tree" / "base" / "app.sls").exists()


def test_a_file_that_is_gone_leaves_no_part_and_has_words(tmp_path):
    files, _ = files_of(tmp_path, {"app.sls": None})
    with pytest.raises(RenderError, match=r"Cannot read salt://app.sls: it is gone"):
        files.find("app.sls", "base")
    assert os.listdir(tmp_path / "tree" / "base") == []


def test_files_are_named_as_those_of_the_tree(tmp_path):
    files, _ = files_of(tmp_path, {"a/app.sls": b""})
    path = files.find("a/app.sls", "base")
    assert files.url_of(path) == "salt://a/app.sls"
    assert files.url_of("/etc/motd") == "/etc/motd"
    assert files.named(f"in {path}: odd") == "in salt://a/app.sls: odd"
