import os

import pytest
from plugin_harness import PluginHarness

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    return harness


def names(path):
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


@pytest.mark.parametrize("way", [{"force": True}, {"backupname": "b"}])
def test_a_wrong_recursion_removes_nothing(plugins, tmp_path, way):
    path = tmp_path / "d"
    path.write_text("x")
    way = {key: str(tmp_path / value) if isinstance(value, str) else value for key, value in way.items()}
    row = plugins.state("file.directory", name=str(path), recurse=["bogus"], **way)
    assert (row["result"], row["changes"], path.read_text()) == (False, {}, "x")


@needs_root
def test_recursive_owner_never_follows_links(plugins, tmp_path):
    top, victim = tmp_path / "d", tmp_path / "victim"
    victim.write_text("x")
    top.mkdir()
    (top / "f").touch()
    (top / "link").symlink_to(victim)
    arguments = {"name": str(top), "user": "nobody", "group": "nogroup", "recurse": ["user", "group"]}
    plugins.state("file.directory", **arguments)
    assert (top / "f").stat().st_uid == 65534
    assert (top / "link").lstat().st_uid == 65534
    assert victim.stat().st_uid == 0
    assert plugins.state("file.directory", **arguments)["changes"] == {}


def test_clean_keeps_what_required_states_manage(plugins, tmp_path):
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    (top / "dead").mkdir()
    for name in ("keep", "kill", "sub/keep", "sub/kill", "dead/x", "log.txt"):
        (top / name).touch()
    plugins.lowstate = [
        {"name": str(top / "keep"), "__id__": "one", "fun": "managed", "state": "file"},
        {"name": str(top / "sub" / "keep"), "__id__": "two", "fun": "managed", "state": "file"},
    ]
    arguments = {
        "name": str(top),
        "clean": True,
        "exclude_pat": "*.txt",
        "require": [{"file": "one"}, {"file": str(top / "sub" / "keep")}],
    }
    dry, real, again = plugins.three_runs("file.directory", **arguments)
    doomed = {str(top / name) for name in ("kill", "sub/kill", "dead", "dead/x")}
    assert set(dry["changes"]) == doomed
    assert dry["changes"][str(top / "kill")] == {"removed": "Removed due to clean"}
    assert set(real["changes"].pop("removed")) == doomed - {str(top / "dead" / "x")}
    assert real["comment"] == f"Files cleaned from directory {top}"
    assert names(top) == ["keep", "log.txt", "sub", "sub/keep"]
    assert again["changes"] == {}


@pytest.fixture
def skeleton(plugins):
    plugins.salt_file("skel/a.txt", "a\n")
    plugins.salt_file("skel/sub/b.cfg", "b {{ x }}\n")
    plugins.salt_file("skel/sub/deep/c", "c\n")
    root = plugins.salt_file("skel/empty/x", "").parent
    (root / "x").unlink()
    return root.parent


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"include_pat": "*.txt"}, ["a.txt"]),
        ({"exclude_pat": "E@deep"}, ["a.txt", "sub", "sub/b.cfg"]),
        ({"exclude_pat": ["*.cfg", "*.txt"]}, ["sub", "sub/deep", "sub/deep/c"]),
        ({"maxdepth": 0}, ["a.txt"]),
        ({"include_empty": True}, ["a.txt", "empty", "sub", "sub/b.cfg", "sub/deep", "sub/deep/c"]),
    ],
)
def test_recurse_takes_part_of_a_tree(plugins, tmp_path, skeleton, arguments, wanted):
    top = tmp_path / "out"
    assert plugins.state("file.recurse", name=str(top), source="salt://skel", **arguments)["result"] is True
    assert names(top) == wanted


def test_recurse_links(plugins, tmp_path, skeleton):
    (skeleton / "link").symlink_to("a.txt")
    plugins.state("file.recurse", name=str(tmp_path / "kept"), source="salt://skel", keep_symlinks=True)
    assert os.readlink(tmp_path / "kept" / "link") == "a.txt"
    plugins.state("file.recurse", name=str(tmp_path / "followed"), source="salt://skel")
    assert not (tmp_path / "followed" / "link").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_its_owner_could_exchange_is_refused_in_the_row(plugins, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "victim").mkdir()
    (home / "link").symlink_to(tmp_path / "victim")
    os.chown(home, 65534, 65534)
    os.lchown(home / "link", 65534, 65534)
    row = plugins.state("file.directory", name=f"{home}/link/new", makedirs=True)
    assert row["result"] is False
    assert row["comment"].startswith("Refusing to follow")
    assert list((tmp_path / "victim").iterdir()) == []
