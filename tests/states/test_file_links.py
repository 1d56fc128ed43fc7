import errno
import os
import pwd

import pytest
from plugin_harness import PluginHarness

from asyncstate.filesystem import change

ME = pwd.getpwuid(os.geteuid()).pw_name
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    return harness


def test_a_new_link(plugins, tmp_path):
    link = tmp_path / "link"
    dry, real, again = plugins.three_runs("file.symlink", name=str(link), target="/etc/hosts")
    assert (dry["result"], dry["changes"]) == (None, {"new": str(link)})
    assert dry["comment"] == f"Symlink {link} to /etc/hosts is set for creation"
    assert (real["result"], real["changes"]) == (True, {"new": str(link)})
    assert real["comment"] == f"Created new symlink {link} -> /etc/hosts"
    assert os.readlink(link) == "/etc/hosts"
    assert again["changes"] == {}
    assert again["comment"].startswith(f"Symlink {link} is present and owned by {ME}:")


def test_a_link_that_leads_elsewhere_is_replaced(plugins, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("old")
    dry, real, again = plugins.three_runs("file.symlink", name=str(link), target="new")
    assert (dry["result"], dry["changes"]) == (None, {"change": str(link)})
    assert dry["comment"] == f"Link {link} target is set to be changed to new"
    assert (real["changes"], os.readlink(link)) == ({"new": str(link)}, "new")
    assert again["changes"] == {}


@pytest.mark.parametrize("kind", ["File", "Directory"])
def test_what_is_no_link_stays_without_force(plugins, tmp_path, kind):
    path = tmp_path / "p"
    path.mkdir() if kind == "Directory" else path.write_text("x")
    dry, real, _ = plugins.three_runs("file.symlink", name=str(path), target="t")
    assert (dry["result"], dry["changes"]) == (False, {})
    assert real["comment"] == f"{kind} exists where the symlink {path} should be"
    assert not path.is_symlink()


def test_force_replaces_a_file_but_never_a_directory(plugins, tmp_path):
    path, folder = tmp_path / "p", tmp_path / "d"
    path.write_text("x")
    folder.mkdir()
    assert plugins.state("file.symlink", name=str(path), target="t", force=True)["result"] is True
    assert os.readlink(path) == "t"
    row = plugins.state("file.symlink", name=str(folder), target="t", force=True)
    assert (row["result"], folder.is_dir()) == (False, True)
    assert row["comment"] == f"Unable to create new symlink {folder} -> t: [Errno 21] Is a directory: '{folder}'"


def test_backupname(plugins, tmp_path):
    path = tmp_path / "p"
    path.write_text("x")
    row = plugins.state("file.symlink", name=str(path), target="t", backupname="p.bak")
    assert (row["result"], (tmp_path / "p.bak").read_text(), os.readlink(path)) == (True, "x", "t")
    path.unlink()
    path.write_text("y")
    row = plugins.state("file.symlink", name=str(path), target="t", backupname="p.bak")
    assert row["comment"].startswith("Symlink & backup dest exists and Force not set.")
    row = plugins.state("file.symlink", name=str(path), target="t", backupname="sub/p.bak")
    assert row["comment"] == "Backupname must be an absolute path or a file name: sub/p.bak"
    assert path.read_text() == "y"


def test_parents(plugins, tmp_path):
    link = tmp_path / "a" / "link"
    row = plugins.state("file.symlink", name=str(link), target="t")
    assert (row["result"], row["comment"]) == (False, f"Directory {link.parent} for symlink is not present")
    dry = plugins.state("file.symlink", test=True, name=str(link), target="t", makedirs=True)
    assert dry["comment"].endswith(f"\n{link.parent} will be created")
    assert plugins.state("file.symlink", name=str(link), target="t", makedirs=True)["result"] is True


def test_bad_arguments(plugins, tmp_path):
    row = plugins.state("file.symlink", name="rel", target="t", user="nosuch")
    assert row["comment"] == "User nosuch does not exist. Specified file rel is not an absolute path."
    row = plugins.state("file.symlink", name="", target="t")
    assert row["comment"] == "Must provide name to file.symlink"


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


def test_a_new_hard_link(plugins, tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("x")
    dry, real, again = plugins.three_runs("file.hardlink", name=str(link), target=str(target))
    assert (dry["result"], dry["changes"]) == (None, {"new": str(link)})
    assert (real["changes"], real["comment"]) == (
        {"new": str(link)},
        f"Created new hard link {link} -> {target}",
    )
    assert link.samefile(target)
    assert again["comment"] == f"Target of hard link {link} is already pointing to {target}"


def test_hard_links_replace_only_what_they_may(plugins, tmp_path):
    target, other, link = (tmp_path / name for name in ("target", "other", "link"))
    target.write_text("x")
    other.write_text("y")
    os.link(other, link)
    row = plugins.state("file.hardlink", name=str(link), target=str(target))
    assert (row["changes"], row["comment"]) == ({"new": str(link)}, f"Set target of hard link {link} -> {target}")
    row = plugins.state("file.hardlink", name=str(other), target=str(target))
    assert row["comment"] == f"File exists where the hard link {other} should be"
    row = plugins.state("file.hardlink", name=str(other), target=str(target), force=True)
    assert row["changes"] == {"forced": "File for hard link was forcibly replaced", "new": str(other)}
    assert other.samefile(target)


@pytest.mark.parametrize("test", [True, False])
def test_hard_links_that_cannot_be(plugins, tmp_path, test):
    target, folder = tmp_path / "target", tmp_path / "d"
    target.write_text("x")
    folder.mkdir()
    for name, aim, comment in (
        ("link", "nope", f"Target {tmp_path / 'nope'} for hard link does not exist"),
        ("link", "d", f"Unable to hard link from directory {folder}"),
        ("d", "target", f"Unable to hard link to directory {folder}"),
    ):
        row = plugins.state("file.hardlink", test=test, name=str(tmp_path / name), target=str(tmp_path / aim))
        assert (row["result"], row["changes"], row["comment"]) == (False, {}, comment)
    plugins.opts["foresight"] = True
    row = plugins.state("file.hardlink", test=test, name=str(tmp_path / "new/l"), target="/proc/version", makedirs=True)
    assert (row["result"], row["changes"]) == (False, {})
    row = plugins.state("file.symlink", test=test, name=str(tmp_path / "new/l"), target="a/" * 2048, makedirs=True)
    assert (row["result"], row["changes"]) == (False, {})
    row = plugins.state("file.hardlink", test=test, name=str(folder / "l"), target="rel")
    assert row["comment"] == "Specified target rel is not an absolute path"
    assert sorted(os.listdir(tmp_path)) == ["d", "file_roots", "target"]


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


@pytest.mark.parametrize("folder", ["d", "link"])
def test_a_hard_link_of_a_file_to_itself_is_right(plugins, tmp_path, folder):
    plugins.opts["foresight"] = True
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "d" / "f").write_text("precious")
    arguments = {"name": str(tmp_path / folder / "f"), "target": str(tmp_path / "d" / "f")}
    for row in plugins.three_runs("file.hardlink", force=True, **arguments):
        assert (row["result"], row["changes"]) == (True, {})
    assert os.listdir(tmp_path / "d") == ["f"]
    assert (tmp_path / "d" / "f").read_text() == "precious"
    assert plugins.state("file.hardlink", **arguments)["result"] is False


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
