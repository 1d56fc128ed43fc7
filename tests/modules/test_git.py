from __future__ import annotations

import shutil
import subprocess

import pytest
from asyncstate.modules import git
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

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
