"""A pipe in place of a file that the program itself reads: no writer comes, and nothing waits for one."""

import os
from pathlib import Path

import pytest

from asyncstate import StateRuntime
from asyncstate.config import Settings, load_settings
from asyncstate.data import host
from asyncstate.errors import PathRefused
from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.virtual import claims_of


def _rendered(path):
    runtime = StateRuntime(Settings(cachedir=os.path.dirname(path)))
    runtime._services.render_template(Path(path), "jinja", {}, "base")


def _minion_id(path):
    os.rename(path, f"{os.path.dirname(path)}/minion_id")
    conf = f"{os.path.dirname(path)}/minion"
    Path(conf).write_text("{}\n")
    assert load_settings([conf]).id == os.uname().nodename


READERS = {
    "template": _rendered,
    "minion_id": _minion_id,
    "text": host.is_text_file,
    "binary": host.is_bin_file,
    "digest": host.file_hashsum,
    "plugin.py": lambda path: claims_of(PluginFile("plugin", path, PluginFolder(os.path.dirname(path)))),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(name, tmp_path, patience, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = str(tmp_path / name)
    os.mkfifo(path)
    if name in ("digest", "template"):
        with pytest.raises((OSError, PathRefused), match=r"pipe|regular"):
            READERS[name](path)
    else:
        READERS[name](path)
