import errno
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from plugin_harness import PluginHarness, snapshot
from recorded_states import expected, recorded, replay

from asyncstate.filesystem import change, trees
from asyncstate.filesystem.replacement import UNSYNCED

RECORDED = recorded("file")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def run_all(command, cwd=None, **_):
    done = subprocess.run(command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for name in ("file", "hashutil"):
        harness.load("modules", name)
    harness.load("states", "file")
    harness.load("modules", "cmd")
    harness.salt["cmd.run_all"] = run_all
    return harness


@pytest.mark.parametrize("name", ["/proc/version", "{}/a/..", "{}/mounts", "{}/mounts/a b"])
def test_absent_removes_nothing_where_it_cannot_remove_all(plugins, tmp_path, monkeypatch, name):
    (tmp_path / "a").mkdir()
    (tmp_path / "mounts/a b").mkdir(parents=True)
    (tmp_path / "mounts/file").touch()
    (tmp_path / "info").write_text(f"36 35 98:0 / {tmp_path}/mounts/a\\040b rw - ext4 /dev/x rw\n")
    monkeypatch.setattr("asyncstate.filesystem.trees._MOUNTS", str(tmp_path / "info"))
    plugins.opts["foresight"] = True
    for test in (True, False):
        row = plugins.state("file.absent", test=test, name=name.format(tmp_path))
        assert (row["result"], row["changes"]) == (False, {})
        assert row["comment"].startswith("Could not remove '")
        assert sorted(os.listdir(tmp_path / "mounts")) == ["a b", "file"]


@needs_root
def test_copy_with_another_owner(plugins, tmp_path):
    source, path = tmp_path / "s", tmp_path / "f"
    source.write_text("x")
    os.chown(source, 65534, 65534)
    row = plugins.state("file.copy", name=str(path), source=str(source), user="nobody")
    assert row["changes"]["user"] == "nobody"
    assert path.stat().st_uid == 65534
    path.unlink()
    plugins.state("file.copy", name=str(path), source=str(source))
    assert path.stat().st_uid == 0
    path.unlink()
    plugins.state("file.copy", name=str(path), source=str(source), preserve=True)
    assert path.stat().st_uid == 65534


def test_what_the_format_has_no_word_for_is_not_serialized(plugins, tmp_path):
    row = plugins.state("file.serialize", name=str(tmp_path / "f"), dataset={"a": object()}, formatter="json")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].endswith(" the dataset: Object of type object is not JSON serializable")


@pytest.fixture
def old_things(tmp_path):
    top = tmp_path / "t"
    (top / "sub").mkdir(parents=True)
    for name, age, size in (("old.log", 10, 1), ("new.log", 0, 1), ("sub/old.txt", 10, 1), ("big.log", 0, 4000)):
        (top / name).write_bytes(b"x" * size)
        moment = time.time() - age * 86400
        os.utime(top / name, (moment, moment))
    return top


@pytest.mark.parametrize(
    ("arguments", "removed"),
    [
        ({"age": 5, "size": "1G"}, {"old.log", "sub/old.txt"}),
        ({"age": 5, "size": "1G", "matches": [r".*\.log"]}, {"old.log"}),
        ({"age": 999, "size": "3K"}, {"big.log"}),
        ({"age": 5, "size": 2, "age_size_logical_operator": "and"}, set()),
        ({"age": 5, "age_size_only": "age", "exclude": ["old.log"]}, {"sub/old.txt"}),
        ({"age": 5, "size": "1G", "matches": [".*/sub/.*"], "full_path_match": True}, {"sub/old.txt"}),
    ],
)
def test_tidied(plugins, old_things, arguments, removed):
    by_mtime = {"time_comparison": "mtime", **arguments}  # looking at a file between the runs changes its atime
    dry, real, again = plugins.three_runs("file.tidied", name=str(old_things), **by_mtime)
    if not removed:
        assert (real["changes"], real["comment"]) == ({}, f"Nothing to remove from directory {old_things}")
        return
    assert dry["changes"] == real["changes"]
    assert set(real["changes"]["removed"]) == {str(old_things / name) for name in removed}
    assert real["comment"] == f"Removed {len(removed)} files or directories from directory {old_things}"
    assert again["changes"] == {}


def test_tidied_directories_and_mistakes(plugins, old_things, tmp_path):
    plugins.state("file.tidied", name=str(old_things), rmdirs=True)
    assert list(old_things.iterdir()) == []
    row = plugins.state("file.tidied", name=str(tmp_path / "no"))
    assert (row["result"], row["comment"]) == (False, f"{tmp_path / 'no'} does not exist or is not a directory.")
    row = plugins.state("file.tidied", name=str(old_things), matches=["("])
    assert row["comment"].startswith("Invalid regular expression: ")


@pytest.mark.parametrize("size", ["rubbish", "1q", "5BB", "1..2K"])
def test_tidied_by_what_is_no_size_removes_nothing(plugins, old_things, size):
    before = sorted(old_things.rglob("*"))
    for test in (True, False):
        row = plugins.state("file.tidied", test=test, name=str(old_things), size=size)
        said = f"'size' must be a number of bytes, perhaps with a unit such as 10K or 3MB, not {size!r}"
        assert (row["result"], row["comment"], row["changes"]) == (False, said, {})
    assert sorted(old_things.rglob("*")) == before


@pytest.mark.parametrize("arguments", [{}, {"recurse": True}, {"ignore_errors": True}])
@pytest.mark.parametrize("name", ["empty", "nested", "full", "half", "linked", "link"])
def test_a_dry_run_tells_what_can_be_pruned(plugins, tmp_path, name, arguments):
    for folder in ("empty", "nested/a/b", "full/a", "half/a", "half/b", "linked"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "full/a/file").touch()
    (tmp_path / "half/a/file").touch()
    (tmp_path / "linked/link").symlink_to("../empty")
    (tmp_path / "link").symlink_to("empty")
    plugins.opts["foresight"] = True
    row = {"name": str(tmp_path / name), **arguments}
    dry, real, _ = plugins.three_runs("file.pruned", **row, settles=False)
    assert (dry["result"] is None) == real["result"]


def marked(case):
    return pytest.param(case, marks=needs_root if "user" in RECORDED[case]["arguments"] else ())


@pytest.mark.parametrize("case", [marked(case) for case in RECORDED])
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, RECORDED[case], run_all) == expected(RECORDED[case])


def test_cached_and_not_cached(plugins, tmp_path):
    path = tmp_path / "f"
    row = plugins.state("file.cached", name=str(path))
    assert (row["result"], row["comment"]) == (False, f"File {path} is not present on the minion")
    path.write_text("abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    row = plugins.state("file.cached", name=str(path), source_hash=digest)
    assert (row["result"], row["comment"]) == (True, f"File {path} is present on the minion and has hash {digest}")
    row = plugins.state("file.cached", name=str(path), source_hash="1" * 64)
    assert row["result"] is False
    row = plugins.state("file.cached", name="http://x.invalid/f")
    assert row["comment"].startswith("Unable to verify upstream hash of source file http://x.invalid/f")
    row = plugins.state("file.not_cached", name=str(path))
    assert (row["result"], path.exists()) == (True, True)
    cache = tmp_path / "cache" / "copy"
    cache.parent.mkdir()
    cache.touch()
    plugins.salt["cp.is_cached"] = lambda *_, **__: str(cache)
    dry, real, _ = plugins.three_runs("file.not_cached", name="http://x.invalid/f")
    assert dry["changes"] == real["changes"] == {"deleted": True}
    assert not cache.exists()


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
def test_patch(plugins, tmp_path):
    plugins.salt_file("p", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
    path = tmp_path / "f"
    path.write_text("a\nb\nc\n")
    dry, real, again = plugins.three_runs("file.patch", name=str(path), source="salt://p")
    assert (dry["result"], dry["comment"]) == (None, "The patch would be applied")
    assert (real["result"], real["comment"]) == (True, "Patch successfully applied")
    assert (again["changes"], again["comment"]) == ({}, "Patch was already applied")
    assert path.read_text() == "a\nB\nc\n"
    path.write_text("quite\ndifferent\n")
    row = plugins.state("file.patch", name=str(path), source="salt://p")
    assert row["result"] is False
    assert row["comment"].startswith("Patch would not apply cleanly, no changes made.")
    row = plugins.state("file.patch", name=str(path), source="salt://p", options="-N -o x")
    assert row["comment"] == "The following CLI options are not allowed: -N, -o"
    assert path.read_text() == "quite\ndifferent\n"


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
@pytest.mark.parametrize(
    ("more", "applies"),
    [({}, False), ({"skip_verify": True}, True), ({"template": "jinja"}, True)],  # as in Salt
)
def test_a_patch_with_another_checksum(plugins, tmp_path, more, applies):
    path, patch = tmp_path / "f", tmp_path / "p"
    path.write_text("a\nb\nc\n")
    patch.write_text("--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
    given = {"name": str(path), "source": str(patch), "source_hash": f"md5={'0' * 32}", **more}
    dry, real = plugins.state("file.patch", test=True, **given), plugins.state("file.patch", **given)
    assert (dry["result"], real["result"]) == ((None, True) if applies else (False, False))
    assert path.read_text() == ("a\nB\nc\n" if applies else "a\nb\nc\n")
    if not applies:
        assert dry["comment"] == real["comment"]
        start = f"Specified md5 checksum for {patch} ({'0' * 32}) does not match "
        assert real["comment"].startswith(start)


@pytest.mark.feature("F197")
@pytest.mark.parametrize("function", ["file.copy", "file.rename"])
@pytest.mark.parametrize(
    ("name", "source"),
    [("d/f", "d/f"), ("d", "d/f"), ("d/f", "link"), ("link", "link"), ("e", "e/f")],
)
def test_a_source_is_not_removed_to_make_room_for_itself(plugins, tmp_path, function, name, source):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("precious")
    (tmp_path / "link").symlink_to("d/f")
    (tmp_path / "e").symlink_to("d")
    row = plugins.state(function, name=f"{tmp_path}/{name}", source=f"{tmp_path}/{source}", force=True)
    assert row["result"] is False
    assert (tmp_path / name).exists()
    assert "would be lost" in row["comment"]
    assert (tmp_path / "d/f").read_text() == "precious"


def test_a_retention_has_a_time_zone(plugins, tmp_path):
    (tmp_path / "a").write_text("x")
    arguments = {"name": str(tmp_path), "retain": {"first_of_day": 1}, "timezone": "Europe/Berlin"}
    assert plugins.state("file.retention_schedule", **arguments)["result"] is True


@pytest.mark.parametrize("failing", ["write", "mkdir", "open", "fchmod"])
@pytest.mark.parametrize(
    "case", list(itertools.product(["file", "folder"], ["file", "folder", "link", "nothing"], [False, True]))
)
def test_what_cannot_be_replaced_by_a_copy_is_still_there(plugins, tmp_path, monkeypatch, case, failing):
    """Whatever call finds the disk full: with ``force``, too, the old or the whole new one is there."""
    kind, there, preserve = case
    source, target = tmp_path / "source", tmp_path / "to" / "target"
    for number in range(1, 100):
        shutil.rmtree(target.parent, ignore_errors=True)
        shutil.rmtree(source, ignore_errors=True)
        target.parent.mkdir()
        make_source(source, kind)
        if there == "folder":
            (target / "old").mkdir(parents=True)
        elif there == "file":
            target.write_text("old")
        elif there == "link":
            target.symlink_to("nowhere")
        before, whole = snapshot(target.parent), snapshot(source)
        with monkeypatch.context() as patched:
            calls = fail(patched, failing, number, errno.ENOSPC)
            row = plugins.state("file.copy", name=str(target), source=str(source), force=True, preserve=preserve)
        assert snapshot(source) == whole
        if row["result"] is False and row["changes"] == {}:
            assert snapshot(target.parent) == before
        else:
            assert (target / "sub" / "f" if kind == "folder" else target).read_text() == "new"
            assert [path.name for path in target.parent.iterdir()] == ["target"]
        if len(calls) < number:
            break
    assert row["result"] is True


@pytest.mark.parametrize("failing", ["write", "mkdir", "open", "unlink", "rmdir"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_move_to_another_file_system_loses_nothing(plugins, tmp_path, monkeypatch, kind, failing):
    source, target = tmp_path / "source", tmp_path / "target"
    real = os.rename

    def across(old, new, **folders):
        if os.path.basename(new) == "target" and os.path.basename(old) == "source":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(old, new, **folders)

    for number in range(1, 100):
        for path in (source, target):
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        make_source(source, kind)
        whole = snapshot(source)
        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", across)
            calls = fail(patched, failing, number, errno.EIO)
            row = plugins.state("file.rename", name=str(target), source=str(source), force=True)
        there = [path for path in (source, target) if path.exists() and snapshot(path) == whole]
        assert there, row
        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", across)
            again = plugins.state("file.rename", name=str(target), source=str(source), force=True)
        assert again["result"] is True
        assert snapshot(target) == whole
        if len(calls) < number:
            break
    assert row["result"] is True


def make_source(source, kind):
    if kind == "folder":
        for name in ("a", "sub"):
            (source / name).mkdir(parents=True)
            (source / name / "f").write_text("new")
    else:
        source.unlink(missing_ok=True)
        source.write_text("new")


def fail(patched, function, number, code):
    """Let the call ``number`` of a function of os fail; return the calls so far."""
    real, calls = getattr(os, function), []

    def failing(*args, **kwargs):
        calls.append(args)
        if len(calls) == number:
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    patched.setattr(os, function, failing)
    return calls


def plant_pipe(path):
    os.mkfifo(path)


def plant_hard_link(path):
    (path.parent.parent / "mine").touch()
    path.hardlink_to(path.parent.parent / "mine")
    os.chown(path.parent, 1234, -1)


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of another file system than ``tmp_path``."""
    others = [path for path in ("/dev/shm", "/var/tmp") if os.stat(path).st_dev != tmp_path.stat().st_dev]
    if not others:
        pytest.skip("there is one file system")
    with tempfile.TemporaryDirectory(dir=others[0]) as folder:
        yield Path(folder)


@pytest.mark.parametrize("plant", [plant_pipe, pytest.param(plant_hard_link, marks=needs_root)])
@pytest.mark.parametrize("case", list(itertools.product(["file.copy", "file.rename"], ["target", "missing/target"])))
def test_a_tree_that_cannot_be_copied_is_foretold(plugins, tmp_path, elsewhere, plant, case):
    function, name = case
    plugins.opts["foresight"] = True
    source = tmp_path / "source"
    source.mkdir()
    plant(source / "planted")
    common = {"name": str(elsewhere / name), "source": str(source), "makedirs": True}
    dry, real = (plugins.state(function, test=test, **common) for test in (True, False))
    assert (dry["result"], real["result"]) == (False, False), (dry, real)
    assert (source / "planted").exists()
    assert not (elsewhere / name).exists()


@needs_root
@pytest.mark.parametrize("owner", [{}, {"group": ""}, {"user": ""}, {"user": "", "group": ""}, {"user": 0, "group": 0}])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_an_owner_without_a_name_is_none(plugins, tmp_path, owner, kind):
    plugins.opts["foresight"] = True
    source = tmp_path / "source"
    if kind == "folder":
        source.mkdir()
        (source / "f").write_text("x")
    else:
        source.write_text("x")
    dry, real, again = plugins.three_runs("file.copy", name=str(tmp_path / "copy"), source=str(source), **owner)
    assert dry["result"] is (None if real["changes"] and real["result"] else real["result"]), (dry, real)
    assert (again["result"], again["changes"]) == (True, {})


def test_new_files_of_a_forced_copy_are_synced_under_their_names(plugins, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    make_source(source, "folder")
    target.mkdir()
    plugins.state("file.copy", name=str(target), source=str(source), force=True)
    recorded = [path for paths in plugins.context[UNSYNCED].values() for path in paths]
    assert sorted(recorded) == [f"{target}/a/f", f"{target}/sub/f"]


@pytest.mark.parametrize("below", ["", "/in"])
def test_a_dry_run_of_a_rename_looks_for_a_mount_at_the_folder_and_not_in_it(plugins, tmp_path, monkeypatch, below):
    plugins.opts["foresight"] = True
    (tmp_path / "source" / "in").mkdir(parents=True)
    (tmp_path / "mountinfo").write_text(f"1 1 0:1 / {tmp_path}/source{below} rw - tmpfs none rw\n")
    monkeypatch.setattr(trees, "_MOUNTS", str(tmp_path / "mountinfo"))
    arguments = {"name": str(tmp_path / "new"), "source": str(tmp_path / "source")}
    assert plugins.state("file.rename", test=True, **arguments)["result"] is (None if below else False)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("directory", {"clean": True}),
        ("tidied", {"matches": [".*"]}),
        ("retention_schedule", {"retain": {"most_recent": 1}, "strptime_format": "%d"}),
    ],
)
def test_a_dry_run_reads_the_mounts_once_for_many_files(plugins, tmp_path, monkeypatch, function, arguments):
    plugins.opts["foresight"] = True
    (tmp_path / "many").mkdir()
    for number in range(10, 30):
        (tmp_path / "many" / str(number)).touch()
    read = []
    monkeypatch.setattr(trees, "mount_points", lambda: read.append(1) or [])
    row = plugins.state(f"file.{function}", test=True, name=str(tmp_path / "many"), **arguments)
    assert (row["result"], len(read)) == (None, 1)


@pytest.mark.parametrize("of_a_folder", [True, False])
def test_a_patch_of_a_folder_needs_no_room_beside_it(plugins, tmp_path, monkeypatch, of_a_folder):
    plugins.opts["foresight"] = True
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "f").write_text("1\n")
    (tmp_path / "diff").write_text("--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\n")
    of_parent = os.stat(tmp_path if of_a_folder else folder).st_ino
    monkeypatch.setattr(change, "refusal", lambda entry: errno.EACCES * (os.fstat(entry.fd).st_ino == of_parent))
    arguments = {"name": str(folder if of_a_folder else folder / "f"), "source": str(tmp_path / "diff")}
    assert plugins.state("file.patch", test=True, **arguments)["result"] is (None if of_a_folder else False)
