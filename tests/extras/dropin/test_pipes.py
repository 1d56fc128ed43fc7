"""A pipe in place of a file that salt-call reads by itself: it has no writer, and no read waits for one."""

import os
from types import SimpleNamespace

import pytest

from asyncstate.cli.console import Console
from asyncstate.extras.dropin.install import install
from asyncstate.extras.dropin.package import unpack
from asyncstate.extras.dropin.printing import _write_file


def _appended(path):
    console = Console()
    _write_file(console, SimpleNamespace(out_file=path, out_file_append=True), "x")
    assert console.incomplete


READERS = {
    "salt-call": lambda path: install(Console(), os.path.dirname(path), force=False),
    "package": lambda path: unpack(path, "", "sha256", os.path.dirname(path)),
    "out-file": _appended,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(name, tmp_path, patience, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = str(tmp_path / name)
    os.mkfifo(path)
    READERS[name](path)
