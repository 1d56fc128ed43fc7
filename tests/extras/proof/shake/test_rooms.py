"""Rooms: changes of a tree are listed, and reach neither the copied root nor this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asyncstate import Settings
from asyncstate.errors import AsyncStateError, CompileError
from asyncstate.extras.proof.shake.job import Job
from asyncstate.extras.proof.shake.outcome import differences
from asyncstate.extras.proof.shake.rooms import Rooms, linked_from, refusal
from asyncstate.extras.proof.shake.search import search

TREE = {
    "made": """
        folder: {file.directory: [{name: /srv/d}]}
        escape: {cmd.run: [{name: 'echo x > /usr/x; echo 1 > /proc/sys/vm/swappiness; mount -o remount,rw /usr; exit 0'}]}
        device: {cmd.run: [{name: 'mknod /srv/disk b 8 0; ls /sys/class/net; ls {tmp}; exit 0'}]}
        gone: {file.absent: [{name: /srv/old}]}
        again: {cmd.run: [{name: 'rm -rf /srv/tree; mkdir /srv/tree; echo new > /srv/tree/new'}]}
        account: {cmd.run: [{name: 'id -u; cat /proc/sys/kernel/hostname'}]}
    """,
    "home": """
        c: {file.managed: [{name: /root/x, contents: x}]}
        e: {cmd.run: [{name: 'f=$(echo ~/x); test -e $f && echo yes > ~/y || true'}]}
    """,
    "wrong": "a: {file.managed: [{name: /x}, {require: [{file: gone}]}]}",
    "random": "{% set n = range(10 ** 5) | random * 10 ** 5 + range(10 ** 5) | random %}\na: {test.nop: [{name: 'n{{ n }}'}]}\nb: {test.nop: []}",
    "daemon": "a: {cmd.run: [{name: 'sleep 1000 > /dev/null 2>&1 & echo started'}]}",
}


@pytest.fixture
def rooms(tmp_path):
    root = tmp_path / "root"
    for path in ("srv/old", "srv/tree/below/file", "srv/kept"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    reason = refusal(str(root))
    if reason:
        pytest.skip(reason)
    (tmp_path / "salt").mkdir()
    for name, text in TREE.items():
        (tmp_path / "salt" / f"{name}.sls").write_text(text.replace("{tmp}", str(tmp_path)))
    made = []

    def make(sls, **options):
        settings = Settings(
            file_roots={"base": [str(tmp_path / "salt")]}, pillar_roots={}, cachedir=str(tmp_path / "c")
        )
        made.append(Rooms(str(root), settings, Job({}, [sls]), **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def before(root):
    return sorted((folder, *files) for folder, _, files in os.walk(root))


@pytest.mark.slow
def test_a_room_is_a_copy_that_nothing_leaves(rooms, tmp_path):
    swappiness = Path("/proc/sys/vm/swappiness").read_text()
    untouched = before(tmp_path / "root")
    plan, outcome = rooms("made").first()
    rows = {row["__id__"]: row for row in outcome.rows.values()}
    assert [chunk.id for chunk in plan.chunks] == ["folder", "escape", "device", "gone", "again", "account"]
    assert {name for name, row in rows.items() if not row["result"]} == set(), rows
    assert outcome.paths["/srv/d"].kind == "folder"
    assert outcome.paths["/srv/old"] is None
    assert outcome.paths["/srv/tree/below/file"] is None
    assert outcome.paths["/srv/tree/new"].kind == "file"
    assert "/srv/kept" not in outcome.paths
    assert not any(path.startswith(("/.asyncstate", "/proc/", "/dev/")) for path in outcome.paths)
    errors = rows["escape"]["changes"]["stderr"]
    assert errors.count("Read-only file system") == 2
    assert rows["device"]["changes"]["stdout"].split() == ["lo", "salt"], "the network and the folder of the tree only"
    assert rows["account"]["changes"]["stdout"] == "0\nshaken"
    assert before(tmp_path / "root") == untouched
    assert Path("/proc/sys/vm/swappiness").read_text() == swappiness
    assert not os.path.exists("/usr/x")


@pytest.mark.slow
def test_a_missing_edge_is_found_and_its_root_can_be_kept(rooms, tmp_path):
    room = rooms("home")
    plan, serial = room.first()
    searching = search(plan, base=room.before)
    next(searching)
    late, early = (1, 0), (0, 1)
    assert searching.send((serial, serial)).orders == (late,)
    outcome = room.run([1, 0])
    assert [(each.name, each.part) for each in differences(serial, outcome, room.before)][-1:] == [
        ("/root/y", "missing")
    ]
    for name, order in (("late", late), ("early", early)):
        (tmp_path / name).mkdir()
        room.run([order.index(node) for node in (0, 1)], keep=str(tmp_path / name))
    assert (tmp_path / "early/root/y").read_text() == "yes\n"
    assert not (tmp_path / "late/root/y").exists()


@pytest.mark.slow
def test_a_tree_that_cannot_run_is_an_error(rooms):
    with pytest.raises(CompileError, match="gone"):
        rooms("wrong").first()
    room = rooms("random")
    room.first()
    with pytest.raises(AsyncStateError, match="compiles to another plan"):
        room.run([0, 1])


@pytest.mark.slow
def test_nothing_outlives_its_room(rooms):
    assert rooms("daemon").first()[1].rows
    with pytest.raises(TimeoutError):
        rooms("daemon", limit=0.01).first()


def test_a_root_that_cannot_be_one_is_refused(tmp_path, monkeypatch):
    assert refusal(str(tmp_path / "none")).endswith("is not a directory")
    assert refusal("/").startswith("/ is this machine")
    (tmp_path / "link").symlink_to("/")
    assert "is this machine" in refusal(str(tmp_path / "link"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(str(tmp_path)) == "this needs unshare, mount, pivot_root (package util-linux)"


def test_what_links_of_a_tree_lead_to_is_part_of_it(tmp_path):
    for path in ("salt/own", "formulas/web/files", "shared", "v2", "system/etc"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "v2" / "file").touch()
    for link, target in {
        "salt/web": "../formulas/web",
        "formulas/web/files/shared": f"{tmp_path}/shared",
        "current": "v2",
        "salt/file": f"{tmp_path}/current/file",
        "salt/inside": "own",
        "salt/gone": "/none/at/all",
        "salt/etc": f"{tmp_path}/system/etc",
        "shared/back": f"{tmp_path}/salt",
    }.items():
        (tmp_path / link).symlink_to(target)
    found = linked_from([f"{tmp_path}/salt"], lambda path: "system" not in path)
    assert sorted(each.removeprefix(str(tmp_path)) for each in found) == [
        "/current/file",
        "/formulas/web",
        "/salt",
        "/shared",
    ]
