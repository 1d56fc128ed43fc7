"""A copy of the recorded tree, without this machine's own configuration."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from record_salt_call import copy_tree

from asyncstate.cli import main


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with etc, salt, pillar and more; it is the working directory."""
    for name in ("NO_COLOR", "FORCE_COLOR", "ASYNCSTATE_CONFIG", "SALT_CONFIG_DIR", "SHELL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    monkeypatch.setenv("ASYNCSTATE_JOURNAL", "off")
    tree = tmp_path / "tree"
    copy_tree(tree)
    monkeypatch.chdir(tree)
    return tree


@pytest.fixture
def salt_call(root, capfd):
    """Run a command line with the configuration of the tree."""

    def call(*words, config=True):
        code = main(["salt-call", *(["--config-dir", f"{root}/etc"] if config else []), *map(str, words)])
        out, errors = capfd.readouterr()
        return SimpleNamespace(code=code, out=out, errors=errors)

    return call
