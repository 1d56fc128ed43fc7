from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from asyncstate.modules import git
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError
from asyncstate.prefetch import Prefetched

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cmd")
    harness.load("modules", "git")
    return harness


def test_version(plugins):
    text = plugins.call("git.version")
    assert text in subprocess.check_output(["git", "--version"], text=True)
    assert plugins.call("git.version", versioninfo=True)[:2] == [int(part) for part in text.split(".")[:2]]


def test_current_branch(plugins, tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path / "repo")], check=True)
    git_ = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git_, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert plugins.call("git.current_branch", str(tmp_path / "repo")) == "trunk"
    subprocess.run([*git_, "checkout", "-q", "--detach"], check=True)
    assert plugins.call("git.current_branch", str(tmp_path / "repo")) == "HEAD"
    with pytest.raises(CommandExecutionError, match="rev-parse"):
        plugins.call("git.current_branch", str(tmp_path))


def test_there_may_be_no_git(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert git.__virtual__()[0] is False


@pytest.mark.timeout(30)
def test_a_server_that_says_nothing_is_given_up(plugins, tmp_path, monkeypatch):
    programs = sys.modules[f"{git.__name__}.programs"]
    monkeypatch.setitem(programs._UNATTENDED, "GIT_HTTP_LOW_SPEED_TIME", "1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/repo"
        with pytest.raises(CommandExecutionError, match="too slow"):
            plugins.call("git.ls_remote", remote=url)


def files_of(clone):
    """Names and contents of a clone, but for its packs, whose names and form the server chooses."""
    found = {}
    for path in sorted(clone.rglob("*")):
        name = str(path.relative_to(clone))
        if path.is_file() and "objects/pack/" not in name and name != ".git/index":
            # The log has the time of the clone.
            found[name] = re.sub(rb"> \d+ ", b"> ", path.read_bytes())
    return found


@pytest.mark.parametrize("opts", ["", "--bare", "--mirror", "--origin there", "--branch v1"])
def test_a_clone_is_the_same_with_objects_fetched_ahead(plugins, tmp_path, opts):
    git_ = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path / "repo")], check=True)
    for number in range(3):
        (tmp_path / "repo" / "f").write_text("line\n" * 200 + str(number))
        subprocess.run([*git_, "add", "f"], check=True)
        subprocess.run([*git_, "commit", "-q", "-m", str(number)], check=True)
    subprocess.run([*git_, "tag", "v1", "HEAD^"], check=True)
    url = f"file://{tmp_path}/repo"
    plugins.call("git.clone", str(tmp_path / "plain"), url, opts=opts)
    prefetched = Prefetched(plugins.opts["cachedir"])
    with plugins.calling() as context:
        context.prefetched = prefetched
        assert plugins.salt["git.prefetch"](url, str(tmp_path / "ahead")) is True
        assert plugins.salt["git.prefetch"](url, str(tmp_path / "ahead")) is False
        assert plugins.salt["git.prefetch"](url, str(tmp_path / "plain")) is False
        # What the copy lacks comes from the repository itself.
        subprocess.run([*git_, "commit", "-q", "--allow-empty", "-m", "late"], check=True)
        subprocess.run(["git", "-C", str(tmp_path / "plain"), "fetch", "-q", "--all"], check=True)
        plugins.salt["git.clone"](str(tmp_path / "ahead"), url, opts=opts)
    prefetched.close()
    subprocess.run(["git", "-C", str(tmp_path / "ahead"), "fsck", "--strict"], check=True)
    assert not list((tmp_path / "ahead").rglob("alternates"))
    shown = ["show-ref", "--head"] if opts in {"--bare", "--mirror"} else ["branch", "-a"]
    heads = [
        subprocess.check_output(["git", "-C", str(tmp_path / name), *shown], text=True) for name in ("ahead", "plain")
    ]
    if opts != "--bare":  # whose branches a fetch does not move
        assert heads[0] == heads[1] or opts == "--branch v1"
    shutil.rmtree(tmp_path / "plain")
    plugins.call("git.clone", str(tmp_path / "plain"), url, opts=opts)
    assert files_of(tmp_path / "ahead") == files_of(tmp_path / "plain")


def test_a_copy_that_is_of_no_use_does_no_harm(plugins, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    url = f"file://{tmp_path}/repo"
    prefetched = Prefetched(plugins.opts["cachedir"])
    with plugins.calling() as context:
        context.prefetched = prefetched
        assert plugins.salt["git.prefetch"](url, str(tmp_path / "clone")) is True
        (kept,) = Path(prefetched.folder("git")).iterdir()
        (kept / "HEAD").unlink()
        assert plugins.salt["git.clone"](str(tmp_path / "clone"), url) is True
        with pytest.raises(CommandExecutionError, match="does not appear to be a git repository"):
            plugins.salt["git.prefetch"](f"{url}/gone", str(tmp_path / "other"))
        with pytest.raises(CommandExecutionError, match="does not appear to be a git repository"):
            plugins.salt["git.clone"](str(tmp_path / "other"), f"{url}/gone")
    prefetched.close()
