import os
import stat
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from messages import said
from plugin_harness import PluginHarness

from asyncstate.errors import RenderError

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


@pytest.mark.parametrize("content", [{}, {"contents": ""}, {"contents": "x"}])
@pytest.mark.parametrize("more", [{}, {"new_file_diff": True}, {"new_file_diff": True, "mode": "0600"}])
def test_a_new_file_is_foretold_whether_or_not_there_is_a_diff(plugins, tmp_path, content, more):
    plugins.opts["foresight"] = True
    dry, real, again = plugins.three_runs("file.managed", name=str(tmp_path / "f"), **content, **more)
    assert (dry["result"], bool(dry["changes"]), bool(real["changes"])) == (None, True, True)
    assert (again["result"], again["changes"]) == (True, {})


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


def test_check_cmd_is_not_run_for_a_file_that_is_right(plugins, tmp_path):
    (tmp_path / "f").write_text("x\n")
    plugins.salt["cmd.run_all"] = None
    assert plugins.state("file.managed", name=str(tmp_path / "f"), contents="x", check_cmd="false")["result"] is True


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
    assert row["comment"] == said("users-link", link=link, user="user nobody", place=tmp_path, owner="user root")
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
