"""Nothing leaves the target of an extraction, with the kernel's help and without."""

from __future__ import annotations

import io
import os
import tarfile

import pytest
from asyncstate.modules.archive.containment import Destination, extract_member, set_directory_modes

from asyncstate.errors import CommandExecutionError, PathRefused
from asyncstate.filesystem import Beneath, rule

WAYS = ["openat2", "by parts"]


@pytest.fixture
def way(request, monkeypatch):
    if request.param == "by parts":
        monkeypatch.setattr(rule, "has_openat2", lambda: False)
    elif not rule.has_openat2():
        pytest.skip("this kernel has no openat2")


def member(name, kind=tarfile.REGTYPE, *, mode=0o644, link="", data=b"text"):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.mtime = kind, mode, link, 1_600_000_000
    info.uid = info.gid = 4711
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    return info, data


def unpack(folder, *members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    buffer.seek(0)
    target = folder / "target"
    target.mkdir(exist_ok=True)
    with tarfile.open(fileobj=buffer) as archive, Beneath(str(target)) as top:
        for each in archive:
            extract_member(archive, each, top, Destination(top.path))
    return target


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_files_folders_and_links_are_unpacked_for_this_user(way, tmp_path):
    target = unpack(
        tmp_path,
        member("d", tarfile.DIRTYPE, mode=0o000),
        member("d/plain", mode=0o666),
        member("d/program", mode=0o4775),
        member("d/secret", mode=0o000),
        member("d/half", mode=0o611),
        member("d/link", tarfile.SYMTYPE, link="plain"),
        member("d/second", tarfile.LNKTYPE, link="d/plain"),
        member("/absolute"),
    )
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (target / "d").iterdir()}
    assert modes == {
        "plain": 0o644, "program": 0o755, "secret": 0o600, "half": 0o600, "link": 0o644, "second": 0o644,
    }  # fmt: skip
    assert os.access(target / "d", os.W_OK | os.X_OK)
    assert (target / "d" / "plain").stat().st_nlink == 2
    assert (target / "d" / "plain").stat().st_uid == os.geteuid()
    assert (target / "d" / "plain").stat().st_mtime == 1_600_000_000
    assert (target / "absolute").read_bytes() == b"text"


ESCAPES = {
    "by name": [member("../out")],
    "by a name further down": [member("d/../../out")],
    "by a link": [member("way", tarfile.SYMTYPE, link=".."), member("way/out")],
    "by a link to an absolute path": [member("way", tarfile.SYMTYPE, link="/tmp"), member("way/out")],
    "by a link deep down": [member("d/way", tarfile.SYMTYPE, link="../.."), member("d/way/out")],
    "by a hard link": [member("way", tarfile.LNKTYPE, link="../outside")],
    "by a hard link to an absolute path": [member("way", tarfile.LNKTYPE, link="/etc/hostname")],
    "as a device": [member("null", tarfile.CHRTYPE)],
    "as a pipe": [member("pipe", tarfile.FIFOTYPE)],
}


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("members", ESCAPES.values(), ids=ESCAPES.keys())
def test_nothing_leaves_the_target(way, members, tmp_path):
    (tmp_path / "outside").write_text("mine")
    with pytest.raises(CommandExecutionError):
        unpack(tmp_path, *members)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "outside").stat().st_nlink == 1


def test_what_stands_in_the_target_already_may_not_lead_out_either(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "way").symlink_to(tmp_path)
    with pytest.raises(CommandExecutionError, match="outside the destination"):
        unpack(tmp_path, member("way/out"))


def test_a_hard_link_to_nothing_is_refused(tmp_path):
    with pytest.raises(CommandExecutionError, match="not there"):
        unpack(tmp_path, member("second", tarfile.LNKTYPE, link="first"))


def test_directories_get_their_modes_last(tmp_path):
    for name in ("out/top/private", "out/top/open", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out/top/link").symlink_to(tmp_path / "elsewhere")
    modes = {
        "top": 0o500,
        "top/private": 0o700,
        "top/open": 0o4777,
        "top/link": 0o700,
        "../elsewhere": 0o700,
        "no": 0o700,
    }
    with Beneath(str(tmp_path / "out")) as top:
        set_directory_modes(top, modes)
    found = {path.name: path.stat().st_mode & 0o7777 for path in tmp_path.rglob("*") if not path.is_symlink()}
    assert found == {"out": 0o755, "top": 0o700, "private": 0o700, "open": 0o755, "elsewhere": 0o755}


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_what_is_exchanged_while_it_is_unpacked_leads_nowhere(way, tmp_path):
    (tmp_path / "target" / "d").mkdir(parents=True)
    (tmp_path / "victim").mkdir()
    with Beneath(str(tmp_path / "target")) as top:
        top.write("d/f", io.BytesIO(b"1"), 0o600)
        (tmp_path / "target" / "d").rename(tmp_path / "target" / "old")
        (tmp_path / "target" / "d").symlink_to("../victim")
        for act in (
            lambda: top.write("d/f", io.BytesIO(b"2"), 0o600),
            lambda: top.mkdir("d/new"),
            lambda: top.symlink("x", "d/x"),
            lambda: top.link("old/f", "d/f"),
            lambda: top.write("../f", io.BytesIO(b"2"), 0o600),
        ):
            with pytest.raises((PathRefused, OSError)):
                act()
        assert not top.is_plain_directory("d")
    assert list((tmp_path / "victim").iterdir()) == []
    assert not (tmp_path / "f").exists()
