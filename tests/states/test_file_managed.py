import os
import stat
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import RenderError

NOTE = "\nNote: No changes made, actual changes may\nbe different due to other states."
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def run_all(command, **_):
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    harness.load("modules", "cmd")
    harness.salt["cmd.run_all"] = run_all
    return harness


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("before", "arguments", "foretold", "changed", "after"),
    [
        (None, {"contents": "hello"}, {"newfile": "F"}, {"diff": "New file"}, "hello\n"),
        (None, {"contents": "a", "contents_newline": False}, {"newfile": "F"}, {"diff": "New file"}, "a"),
        (None, {"contents": ["one", 2, "x\r\ny"]}, {"newfile": "F"}, {"diff": "New file"}, "one\n2\nx\ny\n"),
        (None, {"contents": ""}, {"newfile": "F"}, {"diff": "New file"}, ""),
        (
            None,
            {"contents": "x", "mode": 640},
            {"newfile": "F"},
            {"diff": "New file", "mode": "0640"},
            "x\n",
        ),
        (None, {"contents": "x", "mode": "0600"}, {"newfile": "F"}, {"diff": "New file"}, "x\n"),
        (
            None,
            {"contents": "x", "new_file_diff": True},
            {"diff": "--- \n+++ \n@@ -0,0 +1 @@\n+x\n"},
            {"diff": "--- \n+++ \n@@ -0,0 +1 @@\n+x\n"},
            "x\n",
        ),
        (
            "old\n",
            {"contents": "new"},
            {"diff": "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n"},
            {"diff": "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n"},
            "new\n",
        ),
        (
            "old\n",
            {"contents": "new", "show_changes": False},
            {"diff": "<show_changes=False>"},
            {"diff": "<show_changes=False>"},
            "new\n",
        ),
        (
            "\0\1\2",
            {"contents": "text"},
            {"diff": "Replace binary file with text file"},
            {"diff": "Replace binary file with text file"},
            "text\n",
        ),
        ("same\n", {"contents": "same", "mode": "0600"}, {"mode": "0600"}, {"mode": "0600"}, "same\n"),
    ],
)
def test_contents_table(plugins, before, arguments, foretold, changed, after):  # noqa: PLR0917 - a table
    path = plugins.tmp_path / "f"
    if before is not None:
        path.write_text(before)
        path.chmod(0o644)
    dry, real, again = plugins.three_runs("file.managed", name=str(path), **arguments)
    named = {key: str(path) if value == "F" else value for key, value in foretold.items()}
    assert (dry["result"], dry["changes"]) == (None, named)
    assert dry["comment"] == f"The file {path} is set to be changed{NOTE}"
    assert (real["result"], real["changes"]) == (True, changed)
    assert real["comment"] == f"File {path} updated"
    assert path.read_text() == after
    assert (again["result"], again["changes"]) == (True, {})
    assert again["comment"] == f"File {path} is in the correct state"


def test_a_file_already_right_is_right_in_a_dry_run_too(plugins, tmp_path):
    path = tmp_path / "f"
    path.write_text("x\n")
    row = plugins.state("file.managed", test=True, name=str(path), contents="x")
    assert row == {
        "name": str(path),
        "changes": {},
        "result": True,
        "comment": f"The file {path} is in the correct state",
    }


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"name": "rel/ative", "contents": "x"}, "Specified file rel/ative is not an absolute path"),
        ({"name": "", "contents": "x"}, "Destination file name is required"),
        (
            {"contents": "x", "source": "salt://x"},
            "'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'",
        ),
        (
            {"contents": "x", "contents_pillar": "y"},
            "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted",
        ),
        (
            {"contents": "x", "mode": "keep"},
            "Mode preservation cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'",
        ),
        ({"contents_pillar": "no:such"}, "Pillar no:such does not exist"),
        ({"contents_grains": "nope"}, "Grain nope does not exist"),
        ({"contents": "x", "context": ["a"]}, "Context must be formed as a dict"),
        ({"contents": "x", "defaults": ["a"]}, "Defaults must be formed as a dict"),
        (
            {"contents": "", "allow_empty": False},
            "'contents' value would result in empty contents. Set allow_empty to True to allow the managed file to be empty.",
        ),
        (
            {"contents": "x", "user": "nosuch", "group": "nogrp"},
            "User nosuch is not available Group nogrp is not available",
        ),
        (
            {"source": "salt://nope"},
            "Unable to manage file: Source file salt://nope not found in saltenv 'base'",
        ),
        ({"source": "/no/such"}, "Unable to manage file: Local file source /no/such does not exist"),
        (
            {"source": ["salt://nope", "/no/such"]},
            "Unable to manage file: none of the specified sources were found",
        ),
        (
            {"source": "http://127.0.0.1:1/x"},
            "Unable to manage file: Unable to verify upstream hash of source file http://127.0.0.1:1/x, please set source_hash or set skip_verify to True",
        ),
        (
            {"source": "http://127.0.0.1:1/x", "source_hash": "http://127.0.0.1:1/sums"},
            "Unable to manage file: Source hash file http://127.0.0.1:1/sums not found",
        ),
    ],
)
def test_bad_arguments_change_nothing(plugins, tmp_path, arguments, comment):
    path = tmp_path / "f"
    row = plugins.state("file.managed", **{"name": str(path), **arguments})
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, comment)
    assert not path.exists()


def test_a_directory_in_the_way_is_an_error(plugins, tmp_path):
    row = plugins.state("file.managed", name=str(tmp_path), contents="x")
    assert (row["result"], row["comment"]) == (False, f"Specified target {tmp_path} is a directory")


def test_parents_are_made_only_if_asked(plugins, tmp_path):
    path = tmp_path / "a" / "b" / "f"
    row = plugins.state("file.managed", name=str(path), contents="x")
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, "Parent directory not present")
    row = plugins.state("file.managed", name=str(path), contents="x", makedirs=True, mode="0640")
    assert row["result"] is True
    assert (mode_of(path), mode_of(path.parent), mode_of(path.parent.parent)) == (0o640, 0o750, 0o750)


def test_no_content_makes_an_empty_file_and_keeps_an_existing_one(plugins, tmp_path):
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), mode="0644")
    assert row["changes"] == {"new": f"file {path} created", "mode": "0644"}
    assert row["comment"] == "Empty file"
    path.write_text("kept")
    row = plugins.state("file.managed", name=str(path), mode="0600", replace=False)
    assert (row["changes"], path.read_text(), mode_of(path)) == ({"mode": "0600"}, "kept", 0o600)
    row = plugins.state("file.managed", name=str(path), mode="0600")
    assert (row["changes"], row["comment"]) == (
        {},
        f"File {path} exists with proper permissions. No changes made.",
    )


@pytest.mark.parametrize("content", [{}, {"contents": ""}, {"contents": "x"}])
@pytest.mark.parametrize("more", [{}, {"new_file_diff": True}, {"new_file_diff": True, "mode": "0600"}])
def test_a_new_file_is_foretold_whether_or_not_there_is_a_diff(plugins, tmp_path, content, more):
    plugins.opts["foresight"] = True
    dry, real, again = plugins.three_runs("file.managed", name=str(tmp_path / "f"), **content, **more)
    assert (dry["result"], bool(dry["changes"]), bool(real["changes"])) == (None, True, True)
    assert (again["result"], again["changes"]) == (True, {})


def test_create_false_leaves_a_missing_file_missing(plugins, tmp_path):
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), contents="x", create=False)
    assert (row["result"], row["comment"]) == (True, f"File {path} is not present and is not set for creation")
    assert not path.exists()


def test_contents_from_pillar_and_grains(plugins, tmp_path):
    plugins.pillar["app"] = {"key": "secret\n", "more": "x"}
    plugins.grains["motd"] = "hi"
    for arguments, wanted in (
        ({"contents_pillar": "app:key"}, "secret\n"),
        ({"contents_pillar": ["app:key", "app:more"]}, "secret\n\nx\n"),
        ({"contents_pillar": "app|key", "contents_delimiter": "|"}, "secret\n"),
        ({"contents_grains": "motd"}, "hi\n"),
    ):
        path = tmp_path / "f"
        assert plugins.state("file.managed", name=str(path), **arguments)["result"] is True
        assert path.read_text() == wanted
        path.unlink()


@pytest.mark.parametrize("more", [{"contents_pillar": "none"}, {"contents_grains": "none"}])
@pytest.mark.parametrize("given", [{}, {"template": "jinja"}, {"allow_empty": False}])
def test_a_key_without_a_value_gives_no_contents(plugins, tmp_path, more, given):
    """Rows of Salt: a new file is empty, and a file keeps what it has."""
    plugins.pillar["none"] = plugins.grains["none"] = None
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("kept\n")
    dry, made, _ = plugins.three_runs("file.managed", name=str(new), **more, **given)
    assert (dry["result"], dry["changes"]) == (None, {"newfile": str(new)})
    assert (made["result"], made["comment"], made["changes"]) == (True, "Empty file", {"new": f"file {new} created"})
    dry, same, _ = plugins.three_runs("file.managed", name=str(old), **more, **given)
    assert (dry["result"], dry["comment"]) == (True, f"The file {old} is in the correct state")
    assert (same["result"], same["comment"], same["changes"]) == (True, f"File {old} is in the correct state", {})
    assert (new.read_text(), old.read_text()) == ("", "kept\n")


def test_source_of_the_file_roots(plugins, tmp_path):
    source = plugins.salt_file("app/conf", "from salt\n")
    source.chmod(0o755)
    path = tmp_path / "f"
    dry, real, again = plugins.three_runs("file.managed", name=str(path), source="salt://app/conf")
    assert dry["changes"] == {"newfile": str(path)}
    assert real["changes"] == {"diff": "New file", "mode": "0644"}
    assert again["changes"] == {}
    row = plugins.state("file.managed", name=str(path), source="salt://app/conf", mode="keep")
    assert row["changes"] == {"mode": "0755"}
    assert source.exists()


def test_source_of_another_environment(plugins, tmp_path):
    plugins.salt_file("conf", "dev\n", saltenv="dev")
    row = plugins.state("file.managed", name=str(tmp_path / "f"), source="salt://conf?saltenv=dev")
    assert row["result"] is True
    assert (tmp_path / "f").read_text() == "dev\n"


def test_the_first_source_that_exists_is_taken(plugins, tmp_path):
    plugins.salt_file("second", "2\n")
    source = ["salt://first", {"salt://second": ""}, "salt://third"]
    assert plugins.state("file.managed", name=str(tmp_path / "f"), source=source)["result"] is True
    assert (tmp_path / "f").read_text() == "2\n"


def test_a_wrong_hash_keeps_the_old_file(plugins, tmp_path):
    source, path = tmp_path / "source", tmp_path / "f"
    source.write_text("abc")
    path.write_text("old")
    row = plugins.state("file.managed", name=str(path), source=str(source), source_hash="sha256=" + "0" * 64)
    assert row["result"] is False
    assert row["comment"].startswith(f"Specified sha256 checksum for {source} ({'0' * 64}) does not match actual")
    assert path.read_text() == "old"


@pytest.fixture
def web(tmp_path):
    root = tmp_path / "www"
    root.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield root, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_source_is_verified_and_not_fetched_again(plugins, tmp_path, web):
    root, url = web
    plugins.load("modules", "cp")
    (root / "x").write_text("abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (root / "sums").write_text(f"{'1' * 64}  other\n{digest}  x\n")
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), source=f"{url}/x", source_hash=f"{url}/sums")
    assert row["changes"] == {"diff": "New file", "mode": "0644"}
    (root / "x").unlink()
    row = plugins.state("file.managed", name=str(path), source=f"{url}/x", source_hash=digest)
    assert row["comment"] == f"File {path} exists with proper permissions. No changes made."
    (root / "x").write_text("evil")
    row = plugins.state("file.managed", name=str(tmp_path / "g"), source=f"{url}/x", source_hash="1" * 64)
    assert row["result"] is False
    assert not (tmp_path / "g").exists()


def test_templates_see_context_over_defaults_and_what_is_managed(plugins, tmp_path):
    plugins.salt_file("t", "{{ a }} {{ b }} {{ source }} {{ name }} {{ own }}\n")
    path = tmp_path / "f"
    arguments = {
        "name": str(path),
        "source": "salt://t",
        "template": "jinja",
        "defaults": {"a": 1, "b": 2},
        "context": {"b": 3},
        "own": "argument",
    }
    dry, real, again = plugins.three_runs("file.managed", **arguments)
    assert (dry["result"], real["result"], again["changes"]) == (None, True, {})
    assert path.read_text() == f"1 3 salt://t {path} argument\n"


def test_a_picture_among_the_templates_is_taken_as_it_is(plugins, tmp_path):
    picture = b"\x89PNG\0{{ nope }}\xff"
    plugins.salt_file("t", picture)
    path = tmp_path / "f"
    arguments = {"name": str(path), "source": "salt://t", "template": "jinja"}
    dry, real, again = plugins.three_runs("file.managed", **arguments)
    assert (dry["result"], real["result"], again["changes"]) == (None, True, {})
    assert path.read_bytes() == picture


def test_a_template_that_is_no_text_and_no_picture_is_refused(plugins, tmp_path):
    plugins.salt_file("t", "Grüße, {{ name }}, and a line of text".encode("latin-1"))
    row = plugins.state("file.managed", name=str(tmp_path / "f"), source="salt://t", template="jinja")
    assert row["result"] is False
    assert "codec can't decode" in row["comment"]


def test_a_template_that_fails_leaves_the_file_and_no_temporary(plugins, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plugins.salt_file("t", "{{ nope.x }}\n")
    path = tmp_path / "f"
    path.write_text("old")
    row = plugins.state("file.managed", name=str(path), source="salt://t", template="jinja")
    assert row["result"] is False
    assert row["comment"].startswith("Unable to manage file: Jinja variable 'nope' is undefined")
    row = plugins.state("file.managed", name=str(path), contents="{{ nope.x }}", template="jinja")
    assert row["comment"].startswith("Jinja variable 'nope' is undefined")
    assert path.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "file_roots"]


def test_a_rendered_temporary_file_is_removed(plugins, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plugins.salt_file("t", "{{ 1 + 1 }}\n")
    for test in (True, False):
        plugins.state("file.managed", test=test, name=str(tmp_path / "f"), source="salt://t", template="jinja")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "file_roots"]


def test_other_renderers(plugins, tmp_path):
    plugins.services.renderers["upper"] = lambda text, context: text.upper()
    row = plugins.state("file.managed", name=str(tmp_path / "f"), contents="abc", template="upper")
    assert (row["result"], (tmp_path / "f").read_text()) == (True, "ABC\n")
    row = plugins.state("file.managed", name=str(tmp_path / "g"), contents="abc", template="unknown")
    assert (row["result"], row["comment"]) == (False, str(RenderError("no fake renderer 'unknown'")))


def test_binary_contents_are_written_as_they_are(plugins, tmp_path):
    plugins.pillar["blob"] = b"\xff\xfe\x00"
    assert plugins.state("file.managed", name=str(tmp_path / "f"), contents_pillar="blob")["result"] is True
    assert (tmp_path / "f").read_bytes() == b"\xff\xfe\x00"
    row = plugins.state("file.managed", name=str(tmp_path / "f"), contents_pillar="blob", template="jinja")
    assert row["result"] is False


def test_encoding(plugins, tmp_path):
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), contents="ü", encoding="latin-1")
    assert (row["result"], path.read_bytes()) == (True, b"\xfc\n")
    row = plugins.state("file.managed", name=str(path), contents="ü", encoding="latin-1")
    assert row["changes"] == {}
    row = plugins.state("file.managed", name=str(path), contents="€", encoding="latin-1")
    assert (row["result"], path.read_bytes()) == (False, b"\xfc\n")


@pytest.mark.parametrize("follow", [True, False])
def test_links(plugins, tmp_path, follow):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old\n")
    link.symlink_to(target)
    row = plugins.state("file.managed", name=str(link), contents="new", follow_symlinks=follow)
    assert row["changes"]["diff"] == "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n"
    assert link.is_symlink() is follow
    assert target.read_text() == ("new\n" if follow else "old\n")
    assert link.read_text() == "new\n"


LINKS = {
    "same": "text",
    "empty": "none",
    "loop": "loop",
    "dangling": "nowhere",
    "beyond": "text/x",
    "device": "/dev/null",
}


@pytest.mark.parametrize("contents", ["old", ""])
@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("name", [*LINKS, "pipe"])
def test_a_dry_run_tells_what_becomes_of_a_link_or_a_pipe(plugins, tmp_path, name, follow, contents):
    (tmp_path / "text").write_text("old\n")
    (tmp_path / "none").touch()
    os.mkfifo(tmp_path / "pipe")
    for link, target in LINKS.items():
        (tmp_path / link).symlink_to(target)
    plugins.opts["foresight"] = True
    arguments = {"name": str(tmp_path / name), "contents": contents, "follow_symlinks": follow}
    dry, real, again = plugins.three_runs("file.managed", **arguments)
    foretold = dry["result"] is not False
    assert foretold == real["result"] == again["result"]
    assert bool(dry["changes"]) == bool(real["changes"])
    assert again["changes"] == {}
    if not follow:
        assert foretold
        assert stat.S_ISREG((tmp_path / name).lstat().st_mode)


def test_a_link_that_stays_has_no_mode_of_its_own(plugins, tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    plugins.opts["foresight"] = True
    arguments = {"name": str(tmp_path / "link"), "mode": "0644", "follow_symlinks": False}
    assert [row["changes"] for row in plugins.three_runs("file.managed", **arguments)] == [{}, {}, {}]


def test_a_variable_may_be_named_as_an_argument_of_the_dry_run(plugins, tmp_path):
    arguments = {"name": str(tmp_path / "f"), "contents": "x", "keep_mode": "y"}
    dry, real, _ = plugins.three_runs("file.managed", **arguments)
    assert (dry["result"], real["result"]) == (None, True)


@needs_root
def test_owner_and_mode_are_set_and_reported(plugins, tmp_path):
    path = tmp_path / "f"
    arguments = {"name": str(path), "contents": "x", "user": "nobody", "group": "nogroup", "mode": "0640"}
    row = plugins.state("file.managed", **arguments)
    assert row["changes"] == {"diff": "New file", "user": "nobody", "group": "nogroup", "mode": "0640"}
    os.chown(path, 0, 0)
    assert plugins.state("file.managed", test=True, **arguments)["changes"] == {"user": "nobody", "group": "nogroup"}
    assert plugins.state("file.managed", **arguments)["changes"] == {"user": "nobody", "group": "nogroup"}
    assert plugins.state("file.managed", **arguments)["changes"] == {}
    assert mode_of(path) == 0o640
    plugins.state("file.managed", name=str(path), contents="y")
    assert (path.stat().st_uid, mode_of(path)) == (65534, 0o640)


def test_a_missing_user_is_no_error_in_a_dry_run(plugins, tmp_path):
    row = plugins.state("file.managed", test=True, name=str(tmp_path / "f"), contents="x", user="later")
    assert row["result"] is None


def test_check_cmd_sees_the_new_content_first(plugins, tmp_path):
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), contents="evil", check_cmd="grep good")
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, "check_cmd execution failed")
    assert row["skip_watch"] is True
    assert not path.exists()
    row = plugins.state(
        "file.managed", name=str(path), contents="good", check_cmd="grep good", tmp_dir=str(tmp_path), tmp_ext=".conf"
    )
    assert (row["result"], row["changes"]) == (True, {"diff": "New file"})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "file_roots"]


def test_check_cmd_is_not_run_for_a_file_that_is_right(plugins, tmp_path):
    (tmp_path / "f").write_text("x\n")
    plugins.salt["cmd.run_all"] = None
    assert plugins.state("file.managed", name=str(tmp_path / "f"), contents="x", check_cmd="false")["result"] is True


def test_check_cmd_with_a_template(plugins, tmp_path):
    plugins.salt_file("t", "go{{ 'od' }}\n")
    path = tmp_path / "f"
    row = plugins.state("file.managed", name=str(path), source="salt://t", template="jinja", check_cmd="grep -q good")
    assert (row["result"], path.read_text()) == (True, "good\n")


def test_backup_minion_keeps_the_old_content(plugins, tmp_path):
    path = tmp_path / "f"
    path.write_text("old\n")
    path.chmod(0o640)
    plugins.state("file.managed", name=str(path), contents="new", backup="minion")
    (entry,) = plugins.call("file.list_backups", str(path)).values()
    assert entry["Size"] == 4
    row = plugins.call("file.restore_backup", str(path), 0)
    assert (row["result"], path.read_text(), mode_of(path)) == (True, "old\n", 0o640)
    assert len(plugins.call("file.list_backups", str(path))) == 2
    assert plugins.call("file.delete_backup", str(path), 7)["comment"] == f"backup_id '7' does not exist for {path}"
    assert plugins.call("file.delete_backup", str(path), 0)["result"] is True


def test_lenient_comparison_changes_the_file_but_skips_requisites(plugins, tmp_path):
    path = tmp_path / "f"
    path.write_text("a # note\nb\n")
    row = plugins.state("file.managed", name=str(path), contents="b\na # other", ignore_comment_characters="#")
    assert row["skip_req"] is True
    assert path.read_text() == "b\na # other\n"
    row = plugins.state("file.managed", name=str(path), contents="c", ignore_ordering=True)
    assert "skip_req" not in row


def test_keep_source_never_removes_a_source_of_the_roots(plugins, tmp_path):
    source = plugins.salt_file("conf", "x\n")
    plugins.state("file.managed", name=str(tmp_path / "f"), source="salt://conf", keep_source=False)
    assert source.exists()


def test_a_full_disk_leaves_the_old_file_and_no_rest(plugins, tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old\n")

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", no_space)
    row = plugins.state("file.managed", name=str(path), contents="new")
    monkeypatch.undo()
    assert (row["result"], row["comment"]) == (
        False,
        "Failed to commit change: [Errno 28] No space left on device",
    )
    assert path.read_text() == "old\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "file_roots"]


@needs_root
def test_a_link_planted_by_another_user_is_not_followed(plugins, tmp_path):
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("precious\n")
    shared.mkdir()
    shared.chmod(0o1777)
    link = shared / "f"
    link.symlink_to(victim)
    os.lchown(link, 65534, 65534)
    row = plugins.state("file.managed", name=str(link), contents="evil")
    assert row["result"] is False
    assert "Refusing to follow the symbolic link" in row["comment"]
    assert victim.read_text() == "precious\n"


@needs_root
def test_a_users_link_to_his_own_file_is_followed(plugins, tmp_path):
    own, link = tmp_path / "own", tmp_path / "link"
    own.write_text("old\n")
    os.chown(own, 65534, 65534)
    link.symlink_to(own)
    os.lchown(link, 65534, 65534)
    assert plugins.state("file.managed", name=str(link), contents="new")["result"] is True
    assert (own.read_text(), own.stat().st_uid) == ("new\n", 65534)


def test_extra_arguments_are_reported_where_they_mislead(plugins, tmp_path):
    row = plugins.state("file.managed", name=str(tmp_path / "f"), contents="x", file_mode="0600")
    assert row["warnings"] == [
        "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
    ]


def test_many_threads_writing_one_file_leave_one_whole_content(plugins, tmp_path):
    path = tmp_path / "f"
    texts = [f"{number}" * 20000 for number in range(8)]

    def write(text):
        assert plugins.state("file.managed", name=str(path), contents=text)["result"] is True

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text().rstrip("\n") in texts
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "file_roots"]


def test_the_row_of_a_replaced_link_shows_what_its_content_was(plugins, tmp_path):
    (tmp_path / "real").write_text("old\n")
    (tmp_path / "link").symlink_to("real")
    plugins.salt_file("new", "new\n")
    row = plugins.state("file.managed", name=str(tmp_path / "link"), source="salt://new", follow_symlinks=False)
    assert row["changes"]["diff"] == "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "old\n"


@pytest.mark.parametrize(("before", "result"), [(None, False), ("old", False), ("new", True)])
def test_a_dry_run_verifies_the_signature_as_the_run_does(plugins, tmp_path, before, result):
    path, source = tmp_path / "conf", tmp_path / "source"
    source.write_text("new")
    if before:
        path.write_text(before)
    plugins.opts["foresight"] = True
    plugins.salt["gpg.verify"] = lambda **asked: {"res": asked["signature"] == "/signed", "message": "no"}
    plugins.salt["cp.cache_file"] = lambda path, *_: path
    given = {"name": str(path), "source": str(source)}
    dry, done = (plugins.state("file.managed", test=test, signature="/other", **given) for test in (True, False))
    assert (dry["result"], dry["comment"]) == (result, done["comment"] if not result else dry["comment"])
    assert done["result"] is result
    dry, done = (plugins.state("file.managed", test=test, signature="/signed", **given) for test in (True, False))
    assert (dry["result"], done["result"]) == (result or None, True)
    plugins.opts["foresight"] = False
    path.unlink()
    assert plugins.state("file.managed", test=True, signature="/other", **given)["result"] is None
