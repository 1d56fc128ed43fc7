"""Files of /proc that look regular are pipes, or have no end: every reader of a tree's files comes back from them."""

import os
from contextlib import suppress

import pytest

from asyncstate import filesystem
from asyncstate.errors import PathRefused, RenderError
from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.imports import ImportRefused, import_plugin
from asyncstate.load.virtual import claims_of
from asyncstate.plans.inputs import content_of
from asyncstate.sources.fileclient import LocalFileClient


def plugin(path):
    return PluginFile("endless", path, PluginFolder(os.path.dirname(path)))


def digest(path):
    with filesystem.open_read(path) as file:
        return filesystem.digest(file, "sha256")


READERS = {
    "start": lambda path: filesystem.read_start(path, 100),
    "whole": filesystem.read_bytes,
    "digest": digest,
    "input of a plan": content_of,
    "tree": LocalFileClient({"base": ["/proc"]}).read,
    "claims": lambda path: claims_of(plugin(path)),
    "plugin": lambda path: import_plugin(plugin(path), "states"),
}


@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/self/pagemap"])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_waits_or_reads_for_ever(reader, path):
    with suppress(OSError, PathRefused, RenderError, ImportRefused):
        READERS[reader](path)  # the kernel's log may have a line for it


def test_the_digest_of_a_file_without_a_size_is_that_of_its_content(tmp_path):
    (tmp_path / "copy").write_bytes(filesystem.read_bytes("/proc/version"))
    assert os.stat("/proc/version").st_size == 0
    assert content_of("/proc/version") == content_of(str(tmp_path / "copy")) != ""
