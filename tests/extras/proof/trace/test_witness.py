"""Accesses of this process for a state: the audit hook of Python, and our own file system layer."""

import os
import shutil

import pytest
from traced_calls import observed

from asyncstate import filesystem
from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, WRITTEN
from asyncstate.extras.proof.trace.witness import Trace


class NoStrace:
    """Follows nothing: these tests start no program."""

    program = "/no/strace"

    def follow(self, *_args):
        raise OSError("no room for a trace")


def seen(tmp_path, act):
    with observed(NoStrace(), lambda path: path.startswith(str(tmp_path))) as witness:
        act()
    return {path[len(str(tmp_path)) + 1 :]: what for path, what in witness.touched.seen().items()}


PLUGIN = {
    "open": (lambda at: (at / "f").read_bytes(), {"f": LOOKED}),
    "open to write": (lambda at: (at / "n").write_bytes(b""), {"n": WRITTEN | NAMED}),
    "open to make": (lambda at: open(at / "n", "x").close(), {"n": MADE | WRITTEN}),
    "mkdir": (lambda at: (at / "n").mkdir(), {"n": MADE | ENSURED}),
    "remove": (lambda at: os.remove(at / "f"), {"f": REMOVED}),
    "rename": (lambda at: os.rename(at / "f", at / "n"), {"f": REMOVED, "n": WRITTEN | NAMED}),
    "symlink": (lambda at: os.symlink("f", at / "n"), {"n": MADE | WRITTEN}),
    "chmod": (lambda at: os.chmod(at / "f", 0o600), {"f": WRITTEN}),
    "listdir": (lambda at: os.listdir(at / "d"), {"d": LISTED}),
    "bytes": (lambda at: os.listdir(os.fsencode(at / "d")), {"d": LISTED}),
    "temporary": (
        lambda at: (shutil.copy(at / "f", at / "t"), (at / "t").unlink()),
        {"f": LOOKED, "t": WRITTEN | NAMED | REMOVED},
    ),
}

OURS = {
    "read": (lambda at: filesystem.read_bytes(f"{at}/f"), {"f": LOOKED}),
    "exists": (lambda at: filesystem.exists(f"{at}/no"), {"no": ABSENT}),
    "listdir": (lambda at: filesystem.listdir(f"{at}/d"), {"d": LISTED | LOOKED}),
    "makedirs": (
        lambda at: filesystem.makedirs(f"{at}/d/e"),
        {"d": ENSURED | LOOKED, "d/e": ABSENT | MADE | ENSURED | LOOKED},
    ),
    "replace": (lambda at: filesystem.replace_content(f"{at}/f", b"new"), {"f": LOOKED | WRITTEN}),
    "remove": (lambda at: filesystem.remove(f"{at}/f"), {"f": REMOVED}),
    "rename": (lambda at: filesystem.rename(f"{at}/f", f"{at}/n"), {"f": REMOVED, "n": MADE}),
}


@pytest.fixture
def at(tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "d").mkdir()
    return tmp_path


@pytest.mark.parametrize("what", PLUGIN)
def test_what_a_plugin_does_by_itself(at, what):
    act, expected = PLUGIN[what]
    assert seen(at, lambda: act(at)) == expected


@pytest.mark.parametrize("what", OURS)
def test_what_our_file_system_layer_does(at, what):
    act, expected = OURS[what]
    assert {path: flags for path, flags in seen(at, lambda: act(at)).items() if path} == expected


def test_outside_of_a_traced_call_nothing_is_noted(at):
    with observed(NoStrace()) as witness:
        pass
    (at / "f").read_bytes()
    filesystem.read_bytes(f"{at}/f")
    assert witness.touched.seen() == {}


def test_each_node_has_one_witness_and_own_folders_are_left_out(at):
    trace = Trace(NoStrace(), own=[str(at / "d")])
    assert trace.of(3) is trace.of(3)
    trace.of(3).saw(f"{at}/f", "changed")
    trace.of(4).saw(f"{at}/d/x", "changed")
    assert trace.touched() == {3: {f"{at}/f": WRITTEN}, 4: {}}


def test_a_program_for_which_there_is_no_room_runs_without():
    with observed(NoStrace()) as witness:
        assert witness.follow(["true"], None, None, None) is None
