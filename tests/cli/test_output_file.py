"""Files that a command writes where the operator says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asyncstate.cli.output_file import write_file
from asyncstate.errors import PathRefused


def test_an_output_file_is_private_and_keeps_a_mode(tmp_path):
    new = tmp_path / "new"
    write_file(new, b"1")
    assert new.read_bytes() == b"1"
    assert new.stat().st_mode & 0o777 == 0o600

    new.chmod(0o644)
    write_file(new, b"2")
    assert new.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_an_output_file_follows_a_link(tmp_path):
    link = tmp_path / "latest"
    link.symlink_to("report")
    write_file(link, b"1")
    write_file(link, b"2")
    assert link.is_symlink()
    assert (tmp_path / "report").read_bytes() == b"2"


def test_an_output_file_writes_into_what_is_no_file(tmp_path):
    null = Path("/dev/null").stat()
    write_file("/dev/null", b"1")
    assert os.path.samestat(Path("/dev/null").stat(), null)

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, b"1")
        assert os.read(reader, 9) == b"1"
        assert pipe.is_fifo()
    finally:
        os.close(reader)


def test_an_output_file_does_not_wait_for_a_reader(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        write_file(tmp_path / "pipe", b"1")


def test_an_output_file_writes_to_a_descriptor_of_its_caller(tmp_path):
    reader, writer = os.pipe()
    try:
        write_file(f"/dev/fd/{writer}", b"1")
        assert os.read(reader, 9) == b"1"
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is led where its caller may not go")
@pytest.mark.parametrize("plant", ["link", "pipe"])
def test_an_output_file_goes_nowhere_a_user_can_have_led_it(tmp_path, plant):
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
        write_file(path, b"new")
    assert victim.read_bytes() == b"old"


def test_an_output_file_leaves_nothing_behind_on_failure(tmp_path):
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        write_file(tmp_path / "dir", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["dir"]
