"""Files of ``salt-cp``, and files for a master."""

from __future__ import annotations

import base64
import gzip
import stat

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cp")
    return harness


def _part(data):
    return base64.b64encode(gzip.compress(data)).decode()


def test_small_files(plugins, tmp_path):
    assert plugins.call("cp.recv", {"/far/a": "one"}, str(tmp_path)) == {str(tmp_path / "a"): True}
    assert plugins.call("cp.recv", {"/far/a": "two"}, str(tmp_path / "b")) == {str(tmp_path / "b"): True}
    assert (tmp_path / "b").read_text() == "two"
    assert plugins.call("cp.recv", {"/far/a": "x"}, str(tmp_path / "none" / "c")) == "Destination unavailable"
    assert plugins.call("cp.recv", {"/far/c": "x"}, str(tmp_path / "none" / "c")) == {str(tmp_path / "none/c"): False}


def test_a_large_file_in_parts(plugins, tmp_path):
    path = tmp_path / "new" / "file"
    assert plugins.call("cp.recv_chunked", str(path), _part(b"one "), mode=0o640) is True
    assert plugins.call("cp.recv_chunked", str(path), _part(b"two"), append=True) is True
    assert path.read_bytes() == b"one two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert plugins.call("cp.recv_chunked", str(path), "eA==", compressed=False) is True
    assert path.read_bytes() == b"x"


def test_folders_and_what_cannot_be_written(plugins, tmp_path):
    assert plugins.call("cp.recv_chunked", str(tmp_path / "a" / "b"), None) is True
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    assert plugins.call("cp.recv_chunked", str(tmp_path / "file"), None) == "Path exists and is a file"
    assert "file" in plugins.call("cp.recv_chunked", str(tmp_path / "file" / "x"), _part(b""))
    assert "Not a gzipped file" in plugins.call("cp.recv_chunked", str(tmp_path / "x"), "eA==")
    with pytest.raises(CommandExecutionError, match="base64"):
        plugins.call("cp.recv_chunked", str(tmp_path / "x"), "e")


@pytest.mark.parametrize("function", ["push", "push_dir"])
def test_there_is_no_master_to_push_to(plugins, tmp_path, function):
    assert plugins.call(f"cp.{function}", "relative") is False
    assert plugins.call(f"cp.{function}", f"{tmp_path}/none") is False
    assert plugins.call(f"cp.{function}", f"{tmp_path}/../x") is False
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandExecutionError, match="no Salt master to push"):
        plugins.call(f"cp.{function}", str(tmp_path / "file"))
