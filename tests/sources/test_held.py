"""A run uses the very files that its plan was compared by."""

from __future__ import annotations

import os
import subprocess
import time
from hashlib import sha256

import pytest
from messages import match

from asyncstate.errors import PathRefused, RenderError
from asyncstate.sources.fileclient import LocalFileClient
from asyncstate.sources.held import HeldCopies, HeldFiles


@pytest.fixture
def root(tmp_path):
    names = "base/web/conf base/late dev/only base/_modules/m.py kept/one kept2/one kept2/link test/of"
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"old {name}")
    return tmp_path


def content(path):
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def held(root):
    os.symlink("../../kept", root / "base/web/kept")
    os.symlink("../../kept/one", root / "base/web/link")
    time.sleep(0.02)
    roots = {"base": [f"{root}/over", f"{root}/base"], "dev": [f"{root}/dev"], "__env__": [f"{root}/__env__"]}
    client = LocalFileClient(roots)
    compared = {str(root / name): content(root / name) for name in ("base/web/conf", "dev/only")}
    plugins = {str(root / "base/_modules/m.py"): content(root / "base/_modules/m.py")}
    held = HeldFiles(client, compared, str(root / "cache"), plugins)
    yield held
    held.release()
    assert not list((root / "cache").glob("*"))


def later(path, text):
    """Write a file at a time that differs from that of the comparison."""
    time.sleep(0.02)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_is_as_it_was_compared_is_found_read_and_copied(root, held):
    path = held.find("web/../web/conf", "base")
    assert path == f"{root}/base/web/conf"
    assert held.read(path) == b"old base/web/conf"
    os.chmod(path, 0o750)
    copy = HeldCopies(held).find("web/conf", "base")
    assert copy != path
    assert HeldCopies(held).find("web/conf", "base") == copy
    assert os.stat(copy).st_mode & 0o7777 == 0o750
    assert held.read(copy) == b"old base/web/conf"
    assert held.original(copy) == path
    assert held.original(path) == path
    assert held.envs() == HeldCopies(held).envs() == ["base", "dev", "__env__"]
    assert HeldCopies(held).find("none", "base") is None
    assert HeldCopies(held).find("../base/late", "base") is None


def test_a_copy_stays_what_it_was(root, held):
    copy = HeldCopies(held).find("web/conf", "base")
    later(root / "base/web/conf", "new")
    assert held.read(copy) == b"old base/web/conf"
    assert HeldCopies(held).find("web/conf", "base") == copy


@pytest.mark.parametrize("times", [None, (1, 1)])
def test_what_has_changed_is_refused(root, held, times):
    later(root / "base/web/conf", "new base/web/conf")
    os.utime(root / "base/web/conf", times)
    with pytest.raises(PathRefused, match=match("changed-since", path=root / "base/web/conf")):
        HeldCopies(held).find("web/conf", "base")
    with pytest.raises(RenderError, match="changed after"):
        held.read(held.find("web/conf", "base"))
    (root / "base/web/conf").unlink()
    with pytest.raises(PathRefused, match=match("gone", path=root / "base/web/conf")):
        HeldCopies(held).find("web/conf", "base")


def test_a_file_in_a_stronger_root_takes_no_place(root, held):
    later(root / "over/web/conf", "new")
    assert held.find("web/conf", "base") == f"{root}/base/web/conf"


def test_what_was_not_compared_is_used_unless_it_has_changed_since(root, held):
    assert held.read(HeldCopies(held).find("late", "base")) == b"old base/late"
    assert held.contents[f"{root}/base/late"] == content(root / "base/late")
    later(root / "base/late", "new")
    with pytest.raises(RenderError, match="changed after"):
        held.read(f"{root}/base/late")
    later(root / "base/other", "new")
    os.utime(root / "base/other", (1, 1))
    with pytest.raises(PathRefused, match="changed after"):
        HeldCopies(held).find("other", "base")


SWITCHES = {
    "web/link": [
        "ln -sfn ../../kept2/one base/web/link",
        "mv kept away; mv kept2 kept",
        "mkdir over; mv kept2 over/web",
    ],
    "web/kept/one": ["ln -sfn ../../kept2 base/web/kept"],
}


@pytest.mark.parametrize(("path", "switch"), [(path, each) for path, every in SWITCHES.items() for each in every])
@pytest.mark.parametrize("use", [HeldFiles.read, HeldFiles.copy])
def test_an_older_file_in_the_place_of_one_that_was_not_compared_is_refused(root, held, path, switch, use):
    subprocess.run(switch, shell=True, cwd=root, check=True)
    with pytest.raises((PathRefused, RenderError), match="changed after"):
        use(held, held.find(path, "base"))


def test_a_path_that_leads_where_it_did_is_used(held):
    for name in ("web/link", "web/kept/one"):
        assert held.read(held.find(name, "base")) == b"old kept/one"


def test_a_content_that_another_file_gave_for_a_moment_is_refused(root, held):
    """The path leads elsewhere while it is read, and back before anybody looks."""
    client = held._client

    class Moment:
        def __getattr__(self, name):
            return getattr(client, name)

        def read(self, path):
            return b"of a moment" if path.startswith(f"{root}/base") else client.read(path)

    held._client = Moment()
    assert held.read(held.find("late", "base")) == b"old base/late"
    with pytest.raises(RenderError, match="changed after"):
        held.read(held.find("web/conf", "base"))


def test_a_file_of_an_environment_without_a_name_is_used_unless_it_is_new(root, held):
    assert held.read(held.find("of", "test")) == b"old test/of"
    later(root / "test/new", "new")
    with pytest.raises(RenderError, match="changed after"):
        held.read(held.find("new", "test"))


def test_other_programs_read_folders_of_copies(root, held):
    roots = held.roots_of_copies()
    there = {env: [os.path.exists(folder) for folder in folders] for env, folders in roots.items()}
    assert there == {"base": [False, True], "dev": [True], "__env__": [False]}
    assert sorted(os.listdir(roots["base"][1])) == ["_modules", "web"]
    assert held.folder_of_copies(f"{root}/base/_modules") == f"{roots['base'][1]}/_modules"
    assert held.folder_of_copies("/elsewhere") == "/elsewhere"
    assert HeldCopies(held).find("web/conf", "base") == f"{roots['base'][1]}/web/conf"


def test_they_read_nothing_that_has_changed(root, held):
    later(root / "base/_modules/m.py", "new")
    with pytest.raises(PathRefused, match=r"m\.py changed"):
        held.roots_of_copies()
