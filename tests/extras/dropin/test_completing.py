"""Shell completion after salt-call."""

from __future__ import annotations

import shutil

import pytest
from typed_in_bash import bash

from asyncstate.cli import main
from asyncstate.extras.completion.shell import completions

__all__ = ["bash"]


@pytest.fixture
def programs(tmp_path):
    (tmp_path / "bin").mkdir()
    assert main(["salt-call", "--install", str(tmp_path / "bin"), "--force"]) == 0
    return ["asyncstate", "salt-call"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_tab_completes_functions_arguments_and_options(bash):
    lines = {
        "asyncstate salt-call state.sls_id conf-id web.c": ["salt-call", "state.sls_id", "conf-id", "web.conf"],
        "salt-call --local state.sls_id conf-id web.c": ["--local", "state.sls_id", "conf-id", "web.conf"],
        "salt-call --retc": ["--retcode-passthrough"],
    }
    assert dict(zip(lines, bash(*lines), strict=True)) == lines


def test_ids_are_those_of_the_tree(tmp_path, monkeypatch):
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / f"{name}.sls").write_text(f"of-{name}: test.nop\n")
    words = ["salt-call", "--local", "--file-root", str(tmp_path), "state.id_exists"]
    assert [item.value for item in completions(words, "of-b")] == ["of-b"]
