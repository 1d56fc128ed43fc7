from __future__ import annotations

import os
from pathlib import Path

import pytest

from asyncstate.errors import Issue, PathRefused
from asyncstate.report.issues import issue_lines, warning_lines
from asyncstate.report.replace import replace_file
from asyncstate.report.terminal import COLOURED, PLAIN, clean, count, milliseconds, short_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9996, "1.0 s"),
        (59.96, "60.0 s"),
        (125, "2m05s"),
        (3599.9, "1h00m"),
        (3720, "1h02m"),
    ],
)
def test_short_time(seconds, text):
    assert short_time(seconds) == text


def test_milliseconds_as_salts_summary():
    assert milliseconds(999.0) == "999.000 ms"
    assert milliseconds(1234.5) == "1.234 s"


def test_count():
    assert count(1, "state") == "1 state"
    assert count(0, "state") == "0 states"
    assert count(2, "entry", "entries") == "2 entries"


def test_paint():
    assert PLAIN.paint(PLAIN.red, "x") == "x"
    assert COLOURED.paint(COLOURED.red, "x") == "\x1b[31mx\x1b[0m"
    assert COLOURED.paint(COLOURED.red, "") == ""


def test_clean_spells_out_what_shows_text_in_another_order():
    assert clean("sh\u202egpj.exe\u2069 a\u2028b\u061c") == "sh\\u202egpj.exe\\u2069 a\\u2028b\\u061c"
    assert clean("👩\u200d🚒 ") == "👩\u200d🚒 "


def test_clean_keeps_text_and_spells_out_control_characters():
    assert clean("žluťoučký\tkůň\n") == "žluťoučký\tkůň\n"
    assert clean("a\r\nb\x9b31m\x00") == "a\nb\\x9b31m\\x00"
    assert clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(B") == "link \\x1b(B"


def test_compile_errors_in_salts_form_with_place_and_hint():
    issues = [Issue("Rendering SLS 'base:web' failed: x\ny\n", "/srv/web.sls", 3, "did you mean z?"), Issue("other")]
    assert list(issue_lines(issues)) == [
        "    Data failed to compile:",
        "----------",
        "    Rendering SLS 'base:web' failed: x",
        "    y",
        "      at /srv/web.sls:3",
        "      did you mean z?",
        "----------",
        "    other",
    ]


def test_warnings_are_marked_by_a_word():
    assert list(warning_lines([Issue("odd\nvery", "/f.sls")])) == ["warning: odd", "    very", "      at /f.sls"]


def test_replace_file_is_private_and_keeps_a_mode(tmp_path):
    new = tmp_path / "new"
    replace_file(new, b"1")
    assert new.read_bytes() == b"1"
    assert new.stat().st_mode & 0o777 == 0o600

    new.chmod(0o644)
    replace_file(new, b"2")
    assert new.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_replace_file_follows_a_link(tmp_path):
    link = tmp_path / "latest"
    link.symlink_to("report")
    replace_file(link, b"1")
    replace_file(link, b"2")
    assert link.is_symlink()
    assert (tmp_path / "report").read_bytes() == b"2"


def test_replace_file_writes_into_what_is_no_file(tmp_path):
    null = Path("/dev/null").stat()
    replace_file("/dev/null", b"1")
    assert os.path.samestat(Path("/dev/null").stat(), null)

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, b"1")
        assert os.read(reader, 9) == b"1"
        assert pipe.is_fifo()
    finally:
        os.close(reader)


def test_replace_file_does_not_wait_for_a_reader(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        replace_file(tmp_path / "pipe", b"1")


def test_replace_file_writes_to_a_descriptor_of_its_caller(tmp_path):
    reader, writer = os.pipe()
    try:
        replace_file(f"/dev/fd/{writer}", b"1")
        assert os.read(reader, 9) == b"1"
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is led where its caller may not go")
@pytest.mark.parametrize("plant", ["link", "pipe"])
def test_replace_file_goes_nowhere_a_user_can_have_led_it(tmp_path, plant):
    home, victim = tmp_path / "home", tmp_path / "victim"
    home.mkdir()
    victim.write_bytes(b"old")
    path = home / "report"
    if plant == "link":
        path.symlink_to(victim)
    else:
        os.mkfifo(path)
    os.chown(home, 65534, 65534)
    os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(PathRefused, match=r"Refusing to .* user nobody"):
        replace_file(path, b"new")
    assert victim.read_bytes() == b"old"


def test_replace_file_leaves_nothing_behind_on_failure(tmp_path):
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        replace_file(tmp_path / "dir", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["dir"]
