import os
import shutil
import subprocess

import pytest
from plugin_harness import PluginHarness
from programs import Programs
from state_tables import pack

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "archive")
    Programs(harness)
    return harness


def test_an_archive_of_the_tree(plugins, tmp_path):
    pack(tmp_path / "x.zip", {"one": "1"})
    plugins.salt_file("p.zip", (tmp_path / "x.zip").read_bytes())
    assert plugins.call("archive.list", "salt://p.zip") == ["one"]


@pytest.mark.skipif(not shutil.which("unzip") or not shutil.which("zip"), reason="needs zip and unzip")
def test_programs_for_zip(plugins, tmp_path):
    (tmp_path / "one").write_text("1")
    path = tmp_path / "x.zip"
    plugins.call("archive.cmd_zip", str(path), "one", cwd=str(tmp_path))
    assert plugins.call("archive.is_encrypted", str(path)) is False
    subprocess.run(["zip", "-q", "-P", "secret", str(path), "one"], cwd=tmp_path, check=True)
    assert plugins.call("archive.is_encrypted", str(path)) is True
    plugins.call("archive.cmd_unzip", str(path), str(tmp_path / "out"), password="secret")
    assert (tmp_path / "out" / "one").read_text() == "1"
    with pytest.raises(CommandExecutionError):
        plugins.call("archive.cmd_unzip", str(tmp_path / "no.zip"), str(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what its user may not")
def test_a_program_decompresses_no_file_that_was_exchanged(plugins, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    archive = home / "x.tar.odd"
    archive.write_bytes(b"no tar")
    for path in (home, archive):
        os.chown(path, 65534, -1)
    seen = []

    def decompress(command, **_):
        seen.append(command.split()[1])
        return {"retcode": 1, "stdout": "", "stderr": ""}

    plugins.salt["cmd.run_all"] = decompress
    with pytest.raises(CommandExecutionError, match="Unable to list contents"):
        plugins.call("archive.list", str(archive), archive_format="tar", options="odd")
    assert len(seen) == 1
    assert not seen[0].startswith(str(home))
