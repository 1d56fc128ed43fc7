from __future__ import annotations

import contextvars
import hashlib
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
    harness.salt_file("a/f.txt", "text")
    return harness


@pytest.fixture
def web():
    with web_server() as server:
        server.pages["/file.txt"] = (200, {}, b"from the web")
        yield server


def test_get_file_renders_its_paths(plugins, tmp_path):
    seen = []
    plugins.services.renderers["seen"] = lambda text, context: seen.append(context) or text
    plugins.call("cp.get_file", "salt://a/f.txt", str(tmp_path / "f"), template="seen", extra=1)
    assert seen == [{"extra": 1}, {"extra": 1}]


def test_another_renderer(plugins):
    plugins.services.renderers["mako"] = lambda text, context: f"mako:{text.format(**context)}"
    plugins.salt_file("m", "{who}")
    cached = plugins.call("cp.get_template", "salt://m", "", "mako", context={"who": "me"}, extra=1)
    assert Path(cached).read_text() == "mako:me"


def test_another_environment(plugins):
    path = plugins.salt_file("f.txt", "dev", saltenv="dev")
    assert plugins.call("cp.cache_file", "salt://f.txt?saltenv=dev") == str(path)
    assert plugins.call("cp.envs") == ["base", "dev"]
    assert plugins.call("cp.list_master", saltenv="dev") == ["f.txt"]


def test_password_is_sent_and_never_shown(plugins, web):
    url = web.url.replace("//", "//user:hush@") + "/gone"
    with pytest.raises(CommandExecutionError) as caught:
        plugins.call("cp.cache_file", url)
    assert "HTTP 404: Not Found" in str(caught.value)
    assert "hush" not in str(caught.value)
    assert web.requests[0][2]["Authorization"] == "Basic dXNlcjpodXNo"


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
