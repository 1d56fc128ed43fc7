import os
import stat

import pytest
from plugin_harness import PluginHarness

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    return harness


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(path):
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


def test_a_new_directory(plugins, tmp_path):
    path = tmp_path / "d"
    dry, real, again = plugins.three_runs("file.directory", name=f"{path}/", mode="0750")
    assert dry["changes"] == real["changes"] == {str(path): {"directory": "new"}}
    assert dry["comment"] == f"The following files will be changed:\n{path}: directory - new\n"
    assert (dry["result"], real["result"], real["comment"]) == (None, True, "")
    assert (again["changes"], again["comment"]) == ({}, f"The directory {path} is in the correct state")
    assert mode_of(path) == 0o750


def test_parents_are_made_only_if_asked(plugins, tmp_path):
    path = tmp_path / "a" / "b" / "c"
    row = plugins.state("file.directory", name=str(path))
    assert (row["result"], row["comment"]) == (False, f"No directory to create {path} in")
    row = plugins.state("file.directory", name=str(path), makedirs=True, dir_mode=711)
    assert row["result"] is True
    assert [mode_of(each) for each in (path, path.parent, path.parent.parent)] == [0o711] * 3


def test_mode_of_an_existing_directory(plugins, tmp_path):
    path = tmp_path / "d"
    path.mkdir(0o755)
    dry, real, again = plugins.three_runs("file.directory", name=str(path), mode="0700")
    assert dry["changes"] == {str(path): {"mode": "0700"}}
    assert real["changes"] == {str(path): {"mode": "0700"}, "mode": "0700"}
    assert real["comment"] == f"Directory {path} updated"
    assert again["changes"] == {}


@pytest.mark.parametrize(
    ("recurse", "file_mode", "dir_mode"),
    [
        (["mode"], 0o600, 0o700),
        (["mode", "ignore_files"], 0o644, 0o700),
        (["mode", "ignore_dirs"], 0o600, 0o755),
    ],
)
def test_recursion(plugins, tmp_path, recurse, file_mode, dir_mode):
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    (top / "sub" / "f").touch()
    for path, mode in ((top, 0o755), (top / "sub", 0o755), (top / "sub" / "f", 0o644)):
        path.chmod(mode)
    arguments = {"name": str(top), "dir_mode": "0700", "file_mode": "0600", "recurse": recurse}
    dry, real, again = plugins.three_runs("file.directory", **arguments)
    assert dry["result"] is None
    assert dry["changes"].items() <= real["changes"].items()
    assert (mode_of(top), mode_of(top / "sub"), mode_of(top / "sub" / "f")) == (0o700, dir_mode, file_mode)
    assert again["changes"] == {}


@pytest.mark.parametrize("changes", [True, False])
def test_a_dry_run_misses_the_owner_that_recursion_sets(plugins, tmp_path, changes):
    path = tmp_path / "d"
    path.mkdir(mode=0o700)
    plugins.opts["foresight"] = True
    mode = "755" if changes else "700"
    dry, real, _ = plugins.three_runs("file.directory", name=str(path), mode=mode, recurse=["group", "mode"])
    assert dry["result"] is real["result"] is not changes
    assert dry["comment"] == real["comment"]


def test_recursion_silent_and_max_depth(plugins, tmp_path):
    top = tmp_path / "d"
    (top / "a" / "b").mkdir(parents=True)
    for path in (top, top / "a", top / "a" / "b"):
        path.chmod(0o755)
    row = plugins.state("file.directory", name=str(top), mode="0700", recurse=["mode", "silent"], max_depth=1)
    assert row["changes"] == {"recursion": "Changes silenced", "mode": "0700"}
    assert (mode_of(top), mode_of(top / "a"), mode_of(top / "a" / "b")) == (0o700, 0o700, 0o755)


def test_children_only(plugins, tmp_path):
    top = tmp_path / "d"
    (top / "a").mkdir(parents=True)
    top.chmod(0o755)
    (top / "a").chmod(0o755)
    row = plugins.state("file.directory", name=str(top), mode="0700", recurse=["mode"], children_only=True)
    assert (mode_of(top), mode_of(top / "a")) == (0o755, 0o700)
    assert row["comment"] == f"Directory {top}/* updated"


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


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"name": ""}, "Must provide name to file.directory"),
        ({"name": "rel"}, "Specified file rel is not an absolute path"),
        ({"clean": True, "max_depth": 1}, "Cannot specify both max_depth and clean"),
        ({"user": "nosuch"}, "User nosuch is not available "),
        ({"recurse": "mode"}, '"recurse" must be formed as a list of strings'),
        (
            {"recurse": ["bogus"]},
            'Types for "recurse" limited to "user", "group", "mode", "ignore_files", "ignore_dirs", "silent".',
        ),
        (
            {"recurse": ["ignore_files", "ignore_dirs"]},
            'Must not specify "recurse" options "ignore_files" and "ignore_dirs" at the same time.',
        ),
    ],
)
def test_bad_arguments(plugins, tmp_path, arguments, comment):
    row = plugins.state("file.directory", **{"name": str(tmp_path), **arguments})
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, comment)


def test_a_file_in_the_way(plugins, tmp_path):
    path = tmp_path / "d"
    path.write_text("x")
    row = plugins.state("file.directory", name=str(path))
    assert (row["result"], row["comment"]) == (False, f"Specified location {path} exists and is a file")
    row = plugins.state("file.directory", name=str(path), backupname=str(tmp_path / "bak"))
    assert (row["result"], path.is_dir(), (tmp_path / "bak").read_text()) == (True, True, "x")
    path.rmdir()
    path.write_text("y")
    dry, real, again = plugins.three_runs("file.directory", name=str(path), force=True)
    assert dry["changes"]["forced"] == "File would be forcibly replaced"
    assert real["changes"]["forced"] == "File was forcibly replaced"
    assert (path.is_dir(), again["changes"]) == (True, {})


def test_a_link_to_a_directory(plugins, tmp_path):
    real_one, link = tmp_path / "real", tmp_path / "link"
    real_one.mkdir()
    link.symlink_to(real_one)
    assert plugins.state("file.directory", name=str(link))["result"] is True
    row = plugins.state("file.directory", name=str(link), allow_symlink=False)
    assert row["comment"] == f"Specified location {link} exists and is a symlink"
    row = plugins.state("file.directory", name=str(link), force=True)
    assert row["changes"]["forced"] == "Symlink was forcibly replaced"
    assert not link.is_symlink()
    assert real_one.is_dir()


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


def test_recurse(plugins, tmp_path, skeleton):
    top = tmp_path / "out"
    arguments = {"name": str(top), "source": "salt://skel", "file_mode": "0640", "dir_mode": "0750"}
    dry, real, again = plugins.three_runs("file.recurse", **arguments)
    assert dry["result"] is None
    assert dry["changes"][str(top / "a.txt")] == {"newfile": str(top / "a.txt")}
    assert real["changes"][str(top / "a.txt")] == {"diff": "New file", "mode": "0640"}
    assert real["comment"] == f"Recursively updated {top}"
    assert names(top) == ["a.txt", "sub", "sub/b.cfg", "sub/deep", "sub/deep/c"]
    assert (mode_of(top), mode_of(top / "sub"), mode_of(top / "a.txt")) == (0o750, 0o750, 0o640)
    assert (again["changes"], again["comment"]) == ({}, f"The directory {top} is in the correct state")


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


def test_recurse_renders_templates(plugins, tmp_path, skeleton):
    top = tmp_path / "out"
    row = plugins.state("file.recurse", name=str(top), source="salt://skel", template="jinja", context={"x": 5})
    assert row["result"] is True
    assert (top / "sub" / "b.cfg").read_text() == "b 5\n"


def test_recurse_reports_the_one_file_that_fails(plugins, tmp_path, skeleton):
    top = tmp_path / "out"
    row = plugins.state("file.recurse", name=str(top), source="salt://skel", template="jinja")
    assert row["result"] is False
    assert f"#### {top / 'sub' / 'b.cfg'} ####\nUnable to manage file: Jinja variable" in row["comment"]
    assert (top / "a.txt").exists()


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("pattern", ["nothing", "E@^none$"])
def test_a_tree_of_which_nothing_is_taken_makes_its_folder_and_says_so(plugins, tmp_path, there, pattern):
    plugins.salt_file("skel/a", "a")
    plugins.opts["foresight"] = True
    top = tmp_path / "out"
    if there:
        top.mkdir()
    dry, real, again = plugins.three_runs("file.recurse", name=str(top), source="salt://skel", include_pat=pattern)
    changes = {} if there else {str(top): {"directory": "new"}}
    assert (dry["result"], dry["changes"]) == (True if there else None, changes)
    assert (real["result"], real["changes"]) == (True, changes)
    assert (again["result"], again["changes"]) == (True, {})
    assert top.is_dir()


def test_recurse_links(plugins, tmp_path, skeleton):
    (skeleton / "link").symlink_to("a.txt")
    plugins.state("file.recurse", name=str(tmp_path / "kept"), source="salt://skel", keep_symlinks=True)
    assert os.readlink(tmp_path / "kept" / "link") == "a.txt"
    plugins.state("file.recurse", name=str(tmp_path / "followed"), source="salt://skel")
    assert not (tmp_path / "followed" / "link").is_symlink()


def test_recurse_clean_and_replacing_wrong_kinds(plugins, tmp_path, skeleton):
    top = tmp_path / "out"
    (top / "a.txt").mkdir(parents=True)
    (top / "extra").mkdir()
    (top / "extra" / "f").touch()
    (top / "sub").touch()
    arguments = {"name": str(top), "source": "salt://skel", "clean": True}
    dry, real, again = plugins.three_runs("file.recurse", **arguments)
    assert dry["result"] is None
    assert real["result"] is True
    assert real["changes"]["removed"] == [str(top / "extra")]
    assert (top / "a.txt").read_text() == "a\n"
    assert names(top) == ["a.txt", "sub", "sub/b.cfg", "sub/deep", "sub/deep/c"]
    assert again["changes"] == {}


def test_recurse_merges_sources(plugins, tmp_path, skeleton):
    plugins.salt_file("over/a.txt", "first wins\n")
    top = tmp_path / "out"
    plugins.state("file.recurse", name=str(top), source=["salt://over", "salt://skel"], merge=True)
    assert (top / "a.txt").read_text() == "first wins\n"
    assert (top / "sub" / "deep" / "c").exists()
    other = tmp_path / "other"
    plugins.state("file.recurse", name=str(other), source=["salt://over", "salt://skel"])
    assert names(other) == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"source": "salt://nope"}, "Recurse failed: none of the specified sources were found"),
        ({"source": "/abs"}, "Recurse failed: Invalid source '/abs' (must be a salt:// URI)"),
        (
            {"source": "salt://skel", "mode": "0644"},
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.",
        ),
        ({"source": "salt://skel", "name": "rel"}, "Specified file rel is not an absolute path"),
    ],
)
def test_recurse_bad_arguments(plugins, tmp_path, skeleton, arguments, comment):
    row = plugins.state("file.recurse", **{"name": str(tmp_path / "out"), **arguments})
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, comment)


def test_clean_keeps_what_a_required_recurse_manages(plugins, tmp_path, skeleton):
    top = tmp_path / "d"
    plugins.state("file.recurse", name=str(top / "tree"), source="salt://skel")
    (top / "tree" / "stray").touch()
    (top / "stray").touch()
    plugins.lowstate = [
        {"name": str(top / "tree"), "__id__": "t", "fun": "recurse", "state": "file", "source": "salt://skel"}
    ]
    plugins.state("file.directory", name=str(top), clean=True, require=[{"file": "t"}])
    assert names(top) == ["tree", "tree/a.txt", "tree/sub", "tree/sub/b.cfg", "tree/sub/deep", "tree/sub/deep/c"]


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
    assert row["comment"].startswith("Refusing to follow the symbolic link")
    assert list((tmp_path / "victim").iterdir()) == []
