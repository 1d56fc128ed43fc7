import os
import re
import stat
import threading

import pytest
from asyncstate.modules.file import diffs, modes
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness

from asyncstate import filesystem


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    return harness


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "f"
    path.write_text("one\ntwo\n")
    path.chmod(0o640)
    return path


@given(st.integers(0, 0o7777))
def test_modes_of_any_spelling_are_the_same(bits):
    text = f"{bits:04o}"
    spellings = (text, f"{bits:o}", f"0o{bits:o}", f"0{text}", int(f"{bits:o}"), f"'{text}'")
    assert {modes.normalize_mode(spelling) for spelling in spellings} == {text}
    assert modes.mode_bits(text) == bits


@pytest.mark.parametrize(
    ("mode", "wanted"), [("0644", "755"), ("0600", "700"), ("0640", "750"), ("0444", "555"), ("4755", "755")]
)
def test_directories_for_a_file_can_be_entered(mode, wanted):
    assert modes.directory_mode(mode) == wanted


def test_many_threads_may_make_the_same_directories(plugins, tmp_path):
    errors = []

    def make():
        try:
            plugins.call("file.makedirs", f"{tmp_path}/a/b/c/d/e/", mode="0755")
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_bytes_are_written_at_their_place(plugins, path):
    assert plugins.call("file.seek_write", str(path), b"XY", 1) == 2
    assert path.read_text() == "oXY\ntwo\n"


def test_latin_1_files_stay_latin_1(plugins, path):
    path.write_bytes(b"caf\xe9\nend\n")
    plugins.call("file.replace", str(path), "end", "fin", backup=False)
    assert path.read_bytes() == b"caf\xe9\nfin\n"
    plugins.call("file.append", str(path), "\u20ac")
    assert path.read_text() == "café\nfin\n€\n"


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"", False),
        (b"plain\n", False),
        ("ünïcode ✓\n".encode(), False),
        ("✓".encode()[:2], False),
        (b"a\0b", True),
        (bytes(range(1, 32)) * 4, True),
        (b"\xe9" * 10, True),
    ],
)
def test_text_and_binary(data, binary):
    assert diffs.is_binary(data) is binary


@given(st.lists(st.text(alphabet="ab\u00e9 ", max_size=3), max_size=8), st.binary(max_size=40))
def test_lines_of_bytes_are_never_lost(lines, tail):
    data = "\n".join(lines).encode() + tail
    assert "".join(diffs.lines_of(data)).count("\n") == data.count(b"\n")
    if data.decode("utf-8", "replace").encode() == data:
        assert "".join(diffs.lines_of(data)).encode() == data


def test_a_new_file_has_the_mode_the_umask_leaves(plugins, tmp_path):
    umask = int(re.search(r"Umask:\s+(\d+)", (tmp_path / "/proc/self/status").read_text())[1], 8)
    filesystem.replace_content(str(tmp_path / "new"), b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_a_replaced_file_keeps_mode_owner_and_attributes(path):
    try:
        os.setxattr(path, "user.note", b"kept")
        noted = True
    except OSError:
        noted = False
    filesystem.replace_content(str(path), b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    if noted:
        assert os.getxattr(path, "user.note") == b"kept"


def test_the_unfinished_file_is_private(path):
    with filesystem.Replacement(str(path)) as new:
        assert stat.S_IMODE(os.fstat(new.fd).st_mode) == 0o600


def test_nothing_changes_the_process(plugins, path, tmp_path, monkeypatch):
    def forbidden(*_):
        raise AssertionError("process-wide state")

    for name in ("os.umask", "os.chdir", "os.seteuid", "os.setegid"):
        monkeypatch.setattr(name, forbidden)
    plugins.call("file.write", str(path), "x")
    plugins.call("file.makedirs", f"{tmp_path}/a/b/")
    plugins.call("file.touch", f"{tmp_path}/a/b/c")
    assert (tmp_path / "a" / "b" / "c").exists()
