"""Output of children: all of it up to a limit; beyond, its ends in memory and the whole in a file."""

from __future__ import annotations

import os
import re
import resource
import stat
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.errors import CommandExecutionError
from asyncstate.process import output
from asyncstate.process.child import run_child
from asyncstate.process.output import Keeping, Output, kept

NOTE = re.compile(rb"\n\[\.\.\. (\d+) bytes left out; (.*?) \.\.\.\]\n", re.DOTALL)


@pytest.fixture
def small(monkeypatch):
    """Limits that a few hundred bytes exceed."""
    monkeypatch.setattr(output, "ENDS", 10)


def shown(folder, *parts, name="out", refused=""):
    with kept(Keeping(str(folder), refused, 100)):
        collected = Output()
    for part in parts:
        collected.add(name, part)
    text = collected.text(name)
    collected.close()
    return text


def test_what_fits_is_shown_as_it_is(small, tmp_path):
    assert shown(tmp_path / "o", b"a" * 60, b"b" * 40) == b"a" * 60 + b"b" * 40
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("name", ["out", "err"])
def test_what_is_too_long_is_kept_whole_in_a_private_file(small, tmp_path, name):
    whole = bytes(range(32, 127)) * 3
    text = shown(tmp_path / "o", whole[:70], whole[70:], name=name)
    (kept_file,) = (tmp_path / "o").iterdir()
    assert kept_file.read_bytes() == whole
    assert stat.S_IMODE(kept_file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "o").stat().st_mode) == 0o700
    note = NOTE.search(text)
    assert note is not None
    assert text[: note.start()] == whole[:10]
    assert text[note.end() :] == whole[-10:]
    assert int(note[1]) == len(whole) - 20
    assert note[2].decode() == f"the whole, {len(whole)} bytes, is in {kept_file}"


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=4, max_size=40))
def test_both_ends_are_right_however_it_arrives(parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "ENDS", 10)
        text = shown("/nowhere", *parts, refused="no")
    whole = b"".join(parts)
    if len(whole) <= 100:
        assert text == whole
        return
    note = NOTE.search(text)
    assert note is not None
    begin, end = text[: note.start()], text[note.end() :]
    assert whole.startswith(begin)
    assert whole.endswith(end)
    assert len(begin) >= 7
    assert len(end) >= 7


def test_no_character_is_cut(small, tmp_path):
    whole = ("€" * 200).encode()
    text = shown(tmp_path / "o", whole)
    assert "�" not in text.decode("utf-8", "replace")


def test_where_it_must_not_be_kept_the_note_says_why(small, tmp_path):
    assert b"bytes, is not kept: the state has no_log" in shown(
        tmp_path / "o", b"x" * 500, refused="the state has no_log"
    )
    assert not (tmp_path / "o").exists()


def test_a_folder_of_somebody_else_is_not_used(small, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert b"others can write there" in shown(tmp_path / "open", b"x" * 500)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    assert b"is not kept: " in shown(tmp_path / "link", b"x" * 500)
    assert not list((tmp_path / "open").iterdir())


def test_the_folder_is_bounded(small, monkeypatch, tmp_path):
    monkeypatch.setattr(output, "FILES", 3)
    for number in range(6):
        shown(tmp_path / "o", b"%d" % number * 200)
        for file in (tmp_path / "o").iterdir():
            os.utime(file, ns=(file.stat().st_mtime_ns - 10**9,) * 2)
    assert sorted(file.read_bytes()[:1] for file in (tmp_path / "o").iterdir()) == [b"3", b"4", b"5"]
    monkeypatch.setattr(output, "FILE_LIMIT", 300)
    shown(tmp_path / "o", b"6" * 200)
    assert sorted(file.read_bytes()[:1] for file in (tmp_path / "o").iterdir()) == [b"5", b"6"]


@pytest.mark.parametrize(
    ("limits", "whole"), [((1000, 100), 3), ((10**6, 3), 3), ((10**6, 100), 9), ((1, 100), 0), ((0, 100), 0)]
)
def test_every_row_of_a_run_names_what_is_kept_of_its_output(small, monkeypatch, tmp_path, limits, whole):
    limit, files = limits
    monkeypatch.setattr(output, "FILES", files)
    folder = tmp_path / "o"
    folder.mkdir(mode=0o700)
    for number in range(5):
        (folder / f"{number}.stdout.output").write_bytes(b"older")
    with kept(Keeping(str(folder), "", 100, output.Kept(limit))):
        commands = [Output() for _ in range(9)]
    for number, command in enumerate(commands):
        command.add("out", b"%d" % number * 300)
    notes = [NOTE.search(command.text("out"))[2].decode() for command in commands]
    for number, note in enumerate(notes):
        if "is not kept" in note:
            assert note.startswith("the whole, 300 bytes, is not kept: this run has kept ")
        else:
            size, path = re.match(
                r"the (?:whole|first),? (\d+) (?:of 300 )?bytes,? (?:is|are) in (\S+?)(?:: this|$)", note
            ).groups()
            assert Path(path).read_bytes() == b"%d" % number * int(size)
    assert sum(note.startswith("the whole, 300 bytes, is in ") for note in notes) == whole


@given(st.integers(1, 10**6), st.integers(1, 1 << 32))
def test_the_rows_of_a_run_share_what_it_shows(rows, budget):
    shown = Keeping.of_many("/o", "", rows, budget, output.Kept()).shown
    assert output.LEAST_SHOWN <= shown <= output.SHOWN
    assert shown == output.LEAST_SHOWN or 2 * rows * shown <= budget
    assert shown in (output.SHOWN, output.LEAST_SHOWN) or 2 * rows * (shown + 1) > budget


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full is needed")
def test_a_full_disk_does_not_end_the_program(small, monkeypatch, tmp_path):
    monkeypatch.setattr(output, "_make_file", lambda *_: ("/dev/full", os.open("/dev/full", os.O_WRONLY)))
    assert b"is not kept: No space left on device" in shown(tmp_path, b"x" * 500)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("where", [None, Keeping("/nowhere")])
@pytest.mark.parametrize("size", [5000, 1_000_000])
def test_what_is_parsed_is_never_cut(small, where, size):
    with kept(where):
        assert run_child(["head", "-c", f"{size}", "/dev/zero"], limit=size).stdout == bytes(size)
        with pytest.raises(CommandExecutionError, match=f"wrote more than {size - 1} bytes"):
            run_child(["head", "-c", f"{size}", "/dev/zero"], limit=size - 1)
        with pytest.raises(CommandExecutionError, match=f"^yes was .* more than {size} bytes$"):
            run_child(["yes"], limit=size)


@pytest.mark.parametrize("where", [None, Keeping("/nowhere", "no")])
def test_what_comes_in_drops_takes_no_more_memory(where):
    with kept(where):
        collected = Output()
    tracemalloc.start()
    try:
        for number in range(100_000):
            collected.add("out", b"%d\n" % (number % 10))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 400_000
    assert len(collected.text("out")) == 200_000


def test_who_writes_more_than_may_be_kept_is_ended(small, monkeypatch, tmp_path):
    monkeypatch.setattr(output, "FILE_LIMIT", 1_000_000)
    with kept(Keeping(str(tmp_path / "o"))), pytest.raises(CommandExecutionError, match="more than 1000000 bytes"):
        run_child(["yes"])
    assert not [name for name in os.listdir("/proc/self/fd") if _target(name).startswith(str(tmp_path))]


def _target(name):
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return ""


BOTH = "{0} & {0} 1>&2; wait"


def held(run_limited, folder, streams, size):
    report = run_limited(streams.format(f"head -c {size} /dev/zero | tr '\\0' x"), folder)
    assert report["grown_kib"] < 48 * 1024
    for stream in report["streams"]:
        assert f"bytes left out; the whole, {size} bytes, is in " in stream
    assert [file.stat().st_size for file in (folder / "output").iterdir()] == [size] * len(report["streams"])
    for file in (folder / "output").iterdir():
        file.unlink()


def test_long_output_does_not_stay_in_memory(run_limited, tmp_path):
    held(run_limited, tmp_path, BOTH, 50 * 1024 * 1024)


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["{0}", "{0} 1>&2", BOTH])
def test_two_hundred_megabytes_do_not_stay_in_memory(run_limited, tmp_path, streams):
    held(run_limited, tmp_path, streams, 200 * 1024 * 1024)


@pytest.fixture
def run_limited():
    """Run a shell command in a process of its own, and tell how much that grew and what would be shown."""
    import json
    import subprocess

    def run(command, folder):
        done = subprocess.run(
            [sys.executable, __file__, command, str(folder / "output")], capture_output=True, check=True
        )
        return json.loads(done.stdout)

    return run


if __name__ == "__main__":
    import json

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with kept(Keeping(sys.argv[2])):
        done = run_child(["sh", "-c", sys.argv[1]])
    streams = [text.decode() for text in (done.stdout, done.stderr) if text]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    json.dump({"grown_kib": after - before, "streams": streams}, sys.stdout)
