from __future__ import annotations

import contextvars
import hashlib
import os
import threading
from pathlib import Path

import pytest
from plugin_harness import PluginHarness
from web_server import web_server

from asyncstate.errors import CommandExecutionError
from asyncstate.prefetch import Prefetched


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cp")
    harness.services.renderers["mako"] = lambda text, context: f"mako:{text.format(**context)}"
    harness.salt_file("a/f.txt", "text")
    harness.salt_file("a/sub/g.conf", "conf")
    harness.salt_file("s.sls", "x: test.nop")
    harness.salt_file("f.txt", "dev", saltenv="dev")
    return harness


@pytest.fixture
def web():
    with web_server() as server:
        server.pages["/file.txt"] = (200, {}, b"from the web")
        yield server


def root(plugins, name):
    return str(plugins.tmp_path / "file_roots" / "base" / name)


@pytest.mark.parametrize(
    ("url", "name"),
    [("salt://a/f.txt", "a/f.txt"), ("salt://|a/f.txt", "a/f.txt"), ("salt://f.txt?saltenv=dev", "../dev/f.txt")],
)
def test_cache_file_of_the_tree(plugins, url, name):
    found = plugins.call("cp.cache_file", url)
    assert os.path.samefile(found, root(plugins, name))


def test_cache_file_of_this_machine(plugins, tmp_path):
    (tmp_path / "x").write_text("x")
    assert plugins.call("cp.cache_file", f"{tmp_path}/x") == f"{tmp_path}/x"
    assert plugins.call("cp.cache_file", f"file://{tmp_path}/x") == f"{tmp_path}/x"
    assert plugins.call("cp.cache_local_file", f"{tmp_path}/x") == f"{tmp_path}/x"
    assert plugins.call("cp.cache_local_file", "/nope") == ""
    with pytest.raises(CommandExecutionError, match="Path 'x/y' is not absolute"):
        plugins.call("cp.cache_file", "x/y")


def test_several_files(plugins):
    assert plugins.call("cp.cache_files", ["salt://a/f.txt", "salt://gone"]) == [root(plugins, "a/f.txt"), False]
    assert plugins.call("cp.cache_dir", "salt://a/") == [root(plugins, "a/f.txt"), root(plugins, "a/sub/g.conf")]
    assert plugins.call("cp.cache_dir", "salt://a", include_pat="*.txt") == [root(plugins, "a/f.txt")]
    assert plugins.call("cp.cache_dir", "salt://a", exclude_pat="E@^sub/") == [root(plugins, "a/f.txt")]
    assert len(plugins.call("cp.cache_master")) == 3


def test_get_file_renders_its_paths(plugins, tmp_path):
    seen = []
    plugins.services.renderers["seen"] = lambda text, context: seen.append(context) or text
    plugins.call("cp.get_file", "salt://a/f.txt", str(tmp_path / "f"), template="seen", extra=1)
    assert seen == [{"extra": 1}, {"extra": 1}]


def test_get_template(plugins, tmp_path):
    plugins.salt_file("t", "{{ who }} {{ extra }}")
    dest = tmp_path / "out"
    dest.write_text("old")
    dest.chmod(0o640)
    arguments = {"context": {"who": "me"}, "extra": 1}
    assert plugins.call("cp.get_template", "salt://t", str(dest), **arguments) == str(dest)
    assert dest.read_text() == "me 1"
    assert dest.stat().st_mode & 0o777 == 0o640
    plugins.salt_file("m", "{who}")
    cached = plugins.call("cp.get_template", "salt://m", "", "mako", **arguments)
    assert Path(cached).read_text() == "mako:me"
    assert cached.startswith(str(tmp_path / "cache/extrn_files/base"))
    assert plugins.call("cp.get_template", "salt://gone", str(dest)) == ""
    assert plugins.call("cp.get_template", "salt://t", str(tmp_path / "no/dir"), **arguments) == ""


def test_listings(plugins):
    assert plugins.call("cp.envs") == ["base", "dev"]
    assert plugins.call("cp.list_states") == ["s"]
    assert plugins.call("cp.list_master") == ["a/f.txt", "a/sub/g.conf", "s.sls"]
    assert plugins.call("cp.list_master", prefix="a/sub") == ["a/sub/g.conf"]
    assert plugins.call("cp.list_master_dirs") == ["a", "a/sub"]
    assert plugins.call("cp.list_master", saltenv="dev") == ["f.txt"]


def test_what_is_known_of_a_file(plugins):
    assert plugins.call("cp.hash_file", "salt://a/f.txt") == {
        "hsum": hashlib.sha256(b"text").hexdigest(),
        "hash_type": "sha256",
    }
    assert plugins.call("cp.hash_file", "salt://gone") == ""
    assert plugins.call("cp.hash_file", "/nope") == {}
    os.chmod(root(plugins, "a/f.txt"), 0o640)
    assert plugins.call("cp.stat_file", "salt://a/f.txt") == "0640"
    assert plugins.call("cp.stat_file", "salt://a/f.txt", octal=False) == 0o100640
    assert plugins.call("cp.stat_file", "salt://gone") is None
    assert plugins.call("cp.is_cached", "salt://a/f.txt") == root(plugins, "a/f.txt")
    assert plugins.call("cp.is_cached", "salt://gone") == ""
    assert plugins.call("cp.is_cached", root(plugins, "a/f.txt")) == ""
    assert plugins.call("cp.cache_dest", "/some/path") == "/some/path"


def test_download_is_cached_for_the_run(plugins, web, tmp_path):
    url = f"{web.url}/file.txt"
    path = plugins.call("cp.cache_file", url)
    port = web.url.rpartition(":")[2]
    assert path == str(tmp_path / f"cache/extrn_files/base/127.0.0.1{port}/file.txt")
    assert plugins.call("cp.cache_file", url) == path
    assert plugins.call("cp.is_cached", url) == path
    assert plugins.call("cp.list_minion") == [path]
    assert len(web.requests) == 1
    assert sorted(os.listdir(os.path.dirname(path))) == ["file.txt"]


def test_download_is_spared_by_a_hash(plugins, web):
    url = f"{web.url}/file.txt"
    plugins.call("cp.cache_file", url)
    plugins.context.clear()
    digest = hashlib.sha256(b"from the web").hexdigest()
    plugins.call("cp.cache_file", url, source_hash=f"sha256={digest}")
    assert len(web.requests) == 1
    plugins.context.clear()
    plugins.call("cp.cache_file", url, source_hash="0" * 64)
    assert len(web.requests) == 2


def test_get_url(plugins, web, tmp_path):
    url = f"{web.url}/file.txt"
    assert plugins.call("cp.get_url", url, dest=None) == "from the web"
    assert plugins.call("cp.get_url", url, f"{tmp_path}/") == str(tmp_path / "file.txt")
    assert (tmp_path / "file.txt").read_text() == "from the web"
    assert plugins.call("cp.get_url", url, f"{tmp_path}/no/dir") == ""
    assert plugins.call("cp.get_url", f"{web.url}/file.txt").endswith("/file.txt")
    assert plugins.call("cp.get_url", "salt://a/f.txt") == root(plugins, "a/f.txt")
    assert plugins.call("cp.get_url", "salt://a/f.txt", dest=None) == "text"
    assert plugins.call("cp.get_url", "salt://gone") is False


def test_password_is_sent_and_never_shown(plugins, web):
    url = web.url.replace("//", "//user:hush@") + "/gone"
    with pytest.raises(CommandExecutionError) as caught:
        plugins.call("cp.cache_file", url)
    assert "HTTP 404: Not Found" in str(caught.value)
    assert "hush" not in str(caught.value)
    assert web.requests[0][2]["Authorization"] == "Basic dXNlcjpodXNo"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:1/x", r"Error: \[Errno 111\] Connection refused reading /x"),
        ("ftp://host/x", "Fetching ftp:// URLs is not supported"),
        ("http://host/../../../etc/passwd", "Invalid path"),
    ],
)
def test_downloads_that_fail(plugins, url, message, tmp_path):
    with pytest.raises(CommandExecutionError, match=message):
        plugins.call("cp.cache_file", url)
    assert [name for _, _, names in os.walk(tmp_path / "cache") for name in names] == []


@pytest.fixture
def ahead(plugins, web):
    """Calls functions in a run that fetches ahead."""
    prefetched = Prefetched(plugins.opts["cachedir"])

    def call(function, *args, **kwargs):
        with plugins.calling() as context:
            context.prefetched = prefetched
            return plugins.salt[function](*args, **kwargs)

    yield call
    prefetched.close()
    assert not list(Path(plugins.opts["cachedir"]).glob("prefetch-*"))


DIGEST = hashlib.sha256(b"from the web").hexdigest()


@pytest.mark.parametrize("wanted", [DIGEST, f"sha256={DIGEST.upper()}", hashlib.md5(b"from the web").hexdigest()])
def test_what_was_fetched_ahead_is_not_fetched_again(ahead, web, plugins, wanted):
    url = f"{web.url}/file.txt"
    assert ahead("cp.prefetch", url, wanted) is True
    assert plugins.call("cp.is_cached", url) == "", "for others it is as if it had not been fetched"
    assert ahead("cp.prefetch", url, wanted) is False
    found = Path(ahead("cp.cache_file", url, source_hash=wanted))
    assert found.read_bytes() == b"from the web"
    assert len(web.requests) == 1
    assert ahead("cp.prefetch", url, wanted) is False, "the cache has it"
    plugins.context.clear()
    found.unlink()
    alone = Path(plugins.call("cp.cache_file", url, source_hash=wanted))
    assert alone == found
    assert len(web.requests) == 2


def test_content_with_another_hash_is_not_kept(ahead, web):
    url = f"{web.url}/file.txt"
    with pytest.raises(CommandExecutionError, match=f"has the sha256 {DIGEST}, not {'0' * 64}"):
        ahead("cp.prefetch", url, "0" * 64)
    ahead("cp.cache_file", url, source_hash="0" * 64)
    ahead("cp.cache_file", f"{url}?x", source_hash=None)
    assert len(web.requests) == 3


def test_what_was_changed_since_it_was_fetched_is_fetched_again(ahead, web, plugins):
    url = f"{web.url}/file.txt"
    ahead("cp.prefetch", url, DIGEST)
    (kept,) = Path(plugins.opts["cachedir"]).glob("prefetch-files-*/*")
    kept.write_bytes(b"other")
    assert Path(ahead("cp.cache_file", url, source_hash=DIGEST)).read_bytes() == b"from the web"


def test_nothing_is_fetched_that_is_not_needed(ahead, web, plugins, tmp_path):
    url = f"{web.url}/file.txt"
    (tmp_path / "there").write_bytes(b"from the web")
    assert ahead("cp.prefetch", url, DIGEST, exists=str(tmp_path / "there")) is False
    assert ahead("cp.prefetch", url, DIGEST, has_hash=str(tmp_path / "there")) is False
    assert ahead("cp.prefetch", url, "no hash") is False
    assert plugins.call("cp.prefetch", url, DIGEST) is False, "outside of a run"
    assert not web.requests
    (tmp_path / "there").write_bytes(b"old")
    assert ahead("cp.prefetch", url, DIGEST, has_hash=str(tmp_path / "there")) is True


def test_a_fetch_shows_no_password(ahead, web):
    url = f"{web.url}/gone".replace("//", "//me:hunter2@")
    with pytest.raises(CommandExecutionError) as caught:
        ahead("cp.prefetch", url, DIGEST)
    assert "hunter2" not in str(caught.value)


def test_a_slow_server_holds_up_no_download_of_the_same_content_from_another_one(ahead, web, tmp_path):
    go_on, asked = threading.Event(), threading.Event()

    class Slow(dict):
        """Pages of a server that begins its answer when it may."""

        def get(self, path, default=None):
            if path == "/slow.txt":
                asked.set()
                go_on.wait(60)
            return super().get(path, default)

    web.pages = Slow(web.pages)
    web.pages["/slow.txt"] = (200, {}, b"from the web")
    other = contextvars.copy_context()
    slow = threading.Thread(target=other.run, args=(ahead, "cp.prefetch", f"{web.url}/slow.txt", DIGEST))
    slow.start()
    try:
        assert asked.wait(60)
        assert ahead("cp.prefetch", f"{web.url}/file.txt", DIGEST) is True
        assert Path(ahead("cp.cache_file", f"{web.url}/file.txt", source_hash=DIGEST)).read_bytes() == b"from the web"
        assert Path(ahead("cp.cache_file", f"{web.url}/file.txt?b", source_hash=DIGEST)).read_bytes() == b"from the web"
        assert not go_on.is_set()
    finally:
        go_on.set()
        slow.join()
