"""A pipe in place of a file that the program reads by itself: nobody writes to it, and nothing waits for that."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from asyncstate import StateRuntime
from asyncstate.cli.console import Console
from asyncstate.cli.salt_call.install import install
from asyncstate.cli.salt_call.package import unpack
from asyncstate.cli.salt_call.printing import _write_file
from asyncstate.config import Settings, load_settings
from asyncstate.data import host
from asyncstate.errors import PathRefused
from asyncstate.load.claims import claims_of
from asyncstate.load.folders import PluginFile, PluginFolder


def _appended(path):
    console = Console()
    _write_file(console, SimpleNamespace(out_file=path, out_file_append=True), "x")
    assert console.incomplete


def _rendered(path):
    runtime = StateRuntime(Settings(cachedir=os.path.dirname(path)))
    runtime._services.render_template(Path(path), "jinja", {}, "base")


def _minion_id(path):
    os.rename(path, f"{os.path.dirname(path)}/minion_id")
    conf = f"{os.path.dirname(path)}/minion"
    Path(conf).write_text("{}\n")
    assert load_settings([conf]).id == os.uname().nodename


READERS = {
    "salt-call": lambda path: install(Console(), os.path.dirname(path), force=False),
    "package": lambda path: unpack(path, "", "sha256", os.path.dirname(path)),
    "out-file": _appended,
    "template": _rendered,
    "minion_id": _minion_id,
    "text": host.is_text_file,
    "binary": host.is_bin_file,
    "digest": host.file_hashsum,
    "plugin.py": lambda path: claims_of(PluginFile("plugin", path, PluginFolder(os.path.dirname(path)))),
}


@pytest.fixture
def patience():
    def end(*_):
        raise TimeoutError("it waits for a writer")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(name, tmp_path, patience, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = str(tmp_path / ("salt-call" if name == "salt-call" else name))
    os.mkfifo(path)
    if name in ("digest", "template"):
        with pytest.raises((OSError, PathRefused), match=r"pipe|regular"):
            READERS[name](path)
    else:
        READERS[name](path)
