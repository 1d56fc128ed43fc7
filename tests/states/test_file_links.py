import errno
import os

import pytest
from plugin_harness import PluginHarness

from asyncstate.filesystem import change

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    return harness


@needs_root
def test_owner_of_a_link(plugins, tmp_path):
    link = tmp_path / "link"
    arguments = {"name": str(link), "target": "/etc/hosts", "user": "nobody", "group": "nogroup"}
    plugins.state("file.symlink", **arguments)
    assert link.lstat().st_uid == 65534
    os.lchown(link, 0, 0)
    dry, real, again = plugins.three_runs("file.symlink", **arguments)
    assert (dry["result"], dry["changes"]) == (None, {"ownership": "root:root"})
    assert real["changes"] == {"ownership": "nobody:nogroup"}
    assert real["comment"] == f"Set ownership of symlink {link} to nobody:nogroup"
    assert again["changes"] == {}
    row = plugins.state("file.symlink", name=str(link), target="/etc/hosts", inherit_user_and_group=True)
    assert row["changes"] == {}


def test_no_parents_are_made_for_a_target_that_is_too_long(plugins, tmp_path):
    plugins.opts["foresight"] = True
    for row in plugins.three_runs("file.symlink", name=str(tmp_path / "new/l"), target="a/" * 2048, makedirs=True):
        assert (row["result"], row["changes"]) == (False, {})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("function", ["file.symlink", "file.directory"])
@pytest.mark.parametrize("backupname", ["{path}", "{path}/", "{folder}", "{folder}/x/..", "/"])
@pytest.mark.parametrize("test", [True, False])
def test_the_place_of_a_backup_is_not_cleared_of_what_is_to_be_kept(plugins, tmp_path, function, backupname, test):
    path = tmp_path / "folder" / "f"
    path.parent.mkdir()
    path.write_text("kept")
    plugins.opts["foresight"] = True
    arguments = {"name": str(path), "backupname": backupname.format(path=path, folder=path.parent), "force": True}
    arguments |= {"target": "/etc/hostname"} if function == "file.symlink" else {}
    assert plugins.state(function, test=test, **arguments)["result"] is False
    assert path.read_text() == "kept"


def test_a_file_that_no_hard_link_can_replace_stays(plugins, tmp_path, monkeypatch):
    (tmp_path / "target").write_text("new")
    (tmp_path / "f").write_text("precious")

    def link(*_args, **_options):
        raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))

    monkeypatch.setattr(os, "link", link)
    row = plugins.state("file.hardlink", name=str(tmp_path / "f"), target=str(tmp_path / "target"), force=True)
    assert (row["result"], row["changes"]) == (False, {})
    assert (tmp_path / "f").read_text() == "precious"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".f.")]


@pytest.mark.parametrize("function", ["symlink", "hardlink"])
def test_a_link_that_is_right_needs_no_room(plugins, tmp_path, monkeypatch, function):
    plugins.opts["foresight"] = True
    (tmp_path / "target").touch()
    arguments = {"name": str(tmp_path / "link"), "target": str(tmp_path / "target")}
    assert plugins.state(f"file.{function}", **arguments)["result"] is True
    monkeypatch.setattr(change, "refusal", lambda _entry: errno.EROFS)
    dry, real = (plugins.state(f"file.{function}", test=test, **arguments) for test in (True, False))
    assert (dry["result"], real["result"]) == (True, True)
    dry = plugins.state(f"file.{function}", test=True, **arguments | {"name": str(tmp_path / "other")})
    assert (dry["result"], "Read-only" in dry["comment"]) == (False, True)
